"""What is wrong with an installation, and which command mends it? No bus is started, and nothing is changed.

Read in this order: `findings` (what an examination is told, and tells), `examine` (which there are), then each.
"""
