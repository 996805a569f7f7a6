"""HTTP for those who run the bus, and their programs: numbers for a scraper, health for a supervisor, a journal for who
shares no disk with it. Nothing of the bus can be changed here, and no client of the bus comes this way.

Read in this order: `plug` (what ``http:`` in a listen string stands for), `connection` (one connection, within bounds),
`answering` (who may see which page), `pages` (what is on them), `journal` and `journal_files` (a journal's pages).
"""
