"""Answer or abstain: what answers are worth, at every cost of a wrong one."""
