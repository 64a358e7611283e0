"""Kernels of one thread: their text in C++, their body in Python, the threads of a block, and what they are given."""

SHARED = "    s = cuda.shared.array(256, np.int32)\n"
ONE_THREAD = {
    "insertion sort, one thread": (
        "__shared__ int s[256]; for (int i = 0; i < n; i++) s[i] = i * 7919 % 1000;"
        " for (int i = 1; i < n; i++) { int v = s[i], j = i; while (j > 0 && s[j - 1] > v) { s[j] = s[j - 1]; j--; }"
        " s[j] = v; } for (int i = 0; i < n; i++) a[i] = s[i];",
        SHARED
        + """    for i in range(n):
        s[i] = i * 7919 % 1000
    for i in range(1, n):
        v = s[i]
        j = i
        while j > 0 and s[j - 1] > v:
            s[j] = s[j - 1]
            j -= 1
        s[j] = v
    for i in range(n):
        a[i] = s[i]""",
        1,
        200,
    ),
    "scan, one thread": (
        "__shared__ int s[256]; for (int i = 0; i < 256; i++) s[i] = i;"
        " for (int r = 0; r < n; r++) for (int i = 1; i < 256; i++) s[i] = (s[i] + s[i - 1]) & 1023;"
        " for (int i = 0; i < 256; i++) a[i] = s[i];",
        SHARED
        + """    for i in range(256):
        s[i] = i
    for r in range(n):
        for i in range(1, 256):
            s[i] = (s[i] + s[i - 1]) & 1023
    for i in range(256):
        a[i] = s[i]""",
        1,
        60,
    ),
    "stack, one thread": (
        "__shared__ int s[256]; int top = 0; for (int i = 0; i < n; i++) { s[top++] = i;"
        " if (i % 3 == 2) { int x = s[--top]; int y = s[--top]; s[top++] = x ^ y; } if (top > 200) top = 1; }"
        " a[0] = s[0]; a[1] = top;",
        SHARED
        + """    top = 0
    for i in range(n):
        s[top] = i
        top += 1
        if i % 3 == 2:
            top -= 1
            x = s[top]
            top -= 1
            y = s[top]
            s[top] = x ^ y
            top += 1
        if top > 200:
            top = 1
    a[0] = s[0]
    a[1] = top""",
        1,
        20_000,
    ),
    "histogram, one thread": (
        "__shared__ int s[256]; for (int i = 0; i < 256; i++) s[i] = 0;"
        " for (int i = 0; i < n; i++) s[i * 7919 % 251]++; for (int i = 0; i < 256; i++) a[i] = s[i];",
        SHARED
        + """    for i in range(256):
        s[i] = 0
    for i in range(n):
        s[i * 7919 % 251] += 1
    for i in range(256):
        a[i] = s[i]""",
        1,
        20_000,
    ),
    "product of 24 x 24, one thread": (
        "__shared__ int s[576], w[576]; for (int i = 0; i < n * n; i++) { s[i] = i % 7; w[i] = i % 5; }"
        " for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { int c = 0;"
        " for (int k = 0; k < n; k++) c += s[i * n + k] * w[k * n + j]; a[(i * n + j) & 255] = c; }",
        """    s = cuda.shared.array(576, np.int32)
    w = cuda.shared.array(576, np.int32)
    for i in range(n * n):
        s[i] = i % 7
        w[i] = i % 5
    for i in range(n):
        for j in range(n):
            c = 0
            for k in range(n):
                c += s[i * n + k] * w[k * n + j]
            a[(i * n + j) & 255] = c""",
        1,
        24,
    ),
}
