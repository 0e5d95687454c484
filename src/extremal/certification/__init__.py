"""The trusted base: exact proofs, mechanism files and independent checks. Never imports optimization."""
