"""`reid-ref verify`: do the numbers of a stored result follow from its queries?"""
