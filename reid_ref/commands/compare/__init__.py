"""`reid-ref compare`: is one system better than another?"""
