"""Loops in shared memory as one thread writes them first, on arrays that the tests name ``s`` and ``stack``."""

SORTS = {
    "insertion": """
        for k in range(1, 24):
            key = s[k]
            j = k - 1
            while j >= 0 and s[j] > key:
                s[j + 1] = s[j]
                j -= 1
            s[j + 1] = key
    """,
    "bubble": """
        for k in range(24):
            for j in range(23 - k):
                if s[j] > s[j + 1]:
                    s[j], s[j + 1] = s[j + 1], s[j]
    """,
    "stack": """
        for k in range(9):
            stack[0] = 20 + k
            top = 1
            while top > 0:
                top -= 1
                n = stack[top]
                if n > 1:
                    stack[top] = n // 2
                    stack[top + 1] = n // 3
                    top += 2
                s[n % 24] += 1
                x += n
    """,
}
