"""Features and distances on an accelerator, ranked where they are: the same ranks, bit for bit.

The counterpart of `ranking/`'s tiles and counting, on the array API standard. What crosses to
main memory is a few numbers for each image and each good pair, never features or tiles. Exact
distances are added in the order of the sum in main memory (`sums`), so they are the same doubles.

`sources` (what the engine calls), `features` and `matrix` (tiles and exact distances),
`counting` (images before each good image), `sums`, `settings` (products in full precision),
`pieces` (smaller pieces when memory runs out).
"""
