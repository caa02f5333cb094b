"""ACNS (Hruby, Olsovsky and Kotocova, DCNET 2013; Olsovsky 2013): its evaluation and the verification of its model."""
