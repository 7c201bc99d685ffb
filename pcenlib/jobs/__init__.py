"""How does it run over many files, and survive?

Any function over many items, on every core or on a cluster, through failures and interruptions. Nothing here knows what
is computed.
"""
