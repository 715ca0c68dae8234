// Runs before the first paint, so that a kept theme never flashes the other one.
(function () {
  try {
    var kept = localStorage.getItem("weir-theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    /* storage may be closed: the system preference then decides */
  }
})();
