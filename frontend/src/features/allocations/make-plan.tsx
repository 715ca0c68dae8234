/** Make a plan of an allocation: the steps from what is in force to what was computed. */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "react-router";

import { planFromAllocation } from "@/api/plans";
import { tell, tellFailure } from "@/components/ui/toast";
import { to } from "@/lib/kinds";
import { problemOf } from "@/lib/problem";

/** `refusal` is the sentence why there is nothing to plan: a finding, not a failure. */
export function useMakePlan(allocation: string) {
  const navigate = useNavigate();
  const making = useMutation({
    mutationFn: () => planFromAllocation(allocation),
    onSuccess: (plan) => {
      tell(`Made ${plan.name}`, "A draft. Send it for review when it says what you mean.");
      void navigate(to.plan(plan.id));
    },
    onError: (error) => {
      if (problemOf(error).code !== "nothing_to_change") tellFailure("No plan was made", error);
    },
  });
  const problem = making.error ? problemOf(making.error) : null;
  return {
    make: () => making.mutate(),
    isPending: making.isPending,
    refusal: problem?.code === "nothing_to_change" ? problem.detail : null,
  };
}
