"""The paper's figure 5 and table I: every planner on the same transformations."""
