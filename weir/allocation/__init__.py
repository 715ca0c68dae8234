"""Parts that allocation optimizers share: arrays, rate step, admission, feasibility."""
