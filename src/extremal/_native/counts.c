/* The dynamic programme over whole counts. */

#include "native.h"

#include <math.h>
#include <stddef.h>

#define BLOCK 1024 /* cells at a time: what is read and what is written stay in the nearest cache */

/* to[s] = max(to[s], from[s] + gain), and where that changed something. The two do not overlap. */
static void improve(double *restrict to, const double *restrict from, double gain, int64_t count,
                    bool *restrict taken) {
    if (taken)
        for (int64_t s = 0; s < count; s++) taken[s] = from[s] + gain > to[s];
    for (int64_t s = 0; s < count; s++) to[s] = larger(from[s] + gain, to[s]);
}

/* best[s]: the largest gain of a set of symbols whose counts sum to s exactly (-inf: none). `takes`, unless NULL, has
   a row of `cells` flags a symbol, all false: how each was made. Counts are at least 1. */
EXPORT int64_t extremal_lattice_fill(int64_t n, const int64_t *counts, const double *gain, int64_t cells,
                                     double *best, bool *takes) {
    for (int64_t s = 0; s < cells; s++) best[s] = -INFINITY;
    best[0] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t w = counts[i], most = w < BLOCK ? w : BLOCK;
        for (int64_t end = cells; end > w;) { /* from the top down: a cell is read before it is changed */
            const int64_t start = end - most > w ? end - most : w;
            improve(best + start, best + start - w, gain[i], end - start, takes ? takes + i * cells + start : NULL);
            end = start;
        }
    }
    return 0;
}

/* The set behind best[cell]. Returns -1 if `takes` leads out of the lattice: it was not made for these counts. */
EXPORT int64_t extremal_lattice_trace(int64_t n, const int64_t *counts, const bool *takes, int64_t cells,
                                      int64_t cell, bool *chosen) {
    for (int64_t i = n - 1; i >= 0; i--) {
        chosen[i] = takes[i * cells + cell];
        if (!chosen[i]) continue;
        if (counts[i] < 0 || counts[i] > cell) return -1;
        cell -= counts[i];
    }
    return 0;
}
