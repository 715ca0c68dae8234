; Overlay transformation by slides, after section III.C of Salehi, Zhang, Jacobsen: Incremental
; Topology Transformation for Publish/Subscribe Systems Using Integer Programming.
; conn is undirected: both directions are kept. spare holds for every pair of brokers that the goal
; does not link; it stands for rem, since a link may be removed if it exists and the goal has it not.
(define (domain overlay)
  (:requirements :strips :typing)
  (:types broker)
  (:predicates
    (conn ?a ?b - broker)
    (spare ?a ?b - broker)
    (differ ?a ?b - broker))
  (:action shift
    :parameters (?i ?j ?k - broker)
    :precondition (and
      (conn ?i ?j)
      (conn ?j ?k)
      (spare ?i ?j)
      (differ ?i ?k))
    :effect (and
      (not (conn ?i ?j))
      (not (conn ?j ?i))
      (conn ?i ?k)
      (conn ?k ?i))))
