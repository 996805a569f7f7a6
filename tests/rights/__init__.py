"""Who may do what, for every action in every protocol that has a word for it: allowed, denied, and revoked while live.

`actors` says each action in each protocol; a protocol that joins brings one class there. `effects` says, once for all
protocols, how somebody else notices that an action was done. `test_matrix` has a test for each cell.
"""
