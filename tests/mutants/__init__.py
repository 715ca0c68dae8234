"""Mutation testing: small bugs put into the code that keeps Weir's promises, one at a time.

    make mutants                      # a random sample of 300; the survivors are listed
    make mutants SAMPLE=50 SEED=7     # another sample
    make mutants RESUME=1             # keep what was killed, try the survivors again

Cosmic Ray finds the places and writes the mutants; coverage by test says which tests run the
changed line, and only those run. A mutant that no test notices has survived: either a test is
missing, or the mutant is equivalent and stands in `equivalent.json` with the reason.
"""
