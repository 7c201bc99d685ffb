"""What does the paper claim, and is it so?

The ledger of claims, and what the chapters share.
"""
