/* What the sources share. They need nothing but the C library, and are called from Python through ctypes.

   Every exported function trusts the lengths it is given: the Python module that wraps it checks them, so that no
   call from Python reads or writes outside an array. Any numbers may stand in the arrays, NaN included. */

#ifndef EXTREMAL_NATIVE_H
#define EXTREMAL_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define OUT_OF_MEMORY (-1)

/* The widest instructions that may be used here: 0 plain ones, 1 AVX2, 2 AVX-512. */
EXPORT int64_t extremal_widest(void);

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* A heap of things that are numbered by their places: the one of largest bound comes first. */
typedef struct {
    double bound;
    int64_t place;
} queued;

/* Add x to a heap of `count`, which has room for it. */
static inline void push(queued *heap, int64_t count, queued x) {
    for (; count > 0 && heap[(count - 1) / 2].bound < x.bound; count = (count - 1) / 2)
        heap[count] = heap[(count - 1) / 2];
    heap[count] = x;
}

/* Put x in the place of the first of a heap of `count`. */
static inline void replace_first(queued *heap, int64_t count, queued x) {
    int64_t k = 0;
    for (int64_t best = 1; best < count; best = 2 * k + 1) {
        if (best + 1 < count && heap[best + 1].bound > heap[best].bound) best++;
        if (heap[best].bound <= x.bound) break;
        heap[k] = heap[best];
        k = best;
    }
    heap[k] = x;
}

/* Take the first out of a heap, and return its place. */
static inline int64_t take_first(queued *heap, int64_t *count) {
    const int64_t place = heap[0].place;
    --*count;
    replace_first(heap, *count, heap[*count]);
    return place;
}

/* A set of priors at a level c = e^epsilon: lower <= pi <= upper and |pi - center|_1 <= 2 moved. The least probability
   of symbols A over it is h(A) = max(center(A) - moved, lower(A), 1 - upper(rest)). An extremal lift vector is `top` on
   a set S, `middle` on a set R and 0 elsewhere, has mean 1, and middle h(S and R) + (top - middle) h(S) >= top / c. */
typedef struct {
    int64_t n;
    const double *pi, *center, *lower, *upper;
    double moved, c;
} cone;

/* A pricing problem, in units of weight: symbol i may take z_i in [0, w_i], w_i = pi_i (high - low), of a total
   `capacity`; its lift is low + z_i / pi_i. Its profit is pi_i f(lift) - y_i lift, less its value at z = 0. f comes
   as a table whose chords lie above it, so what is computed from the table bounds what is true from above. */
typedef struct {
    int64_t n;
    const double *pi, *y;
    double capacity, low, high;
    const double *table; /* three rows of cells + 1: see f_above */
    int64_t cells;
} problem;

/* f by the chords of the table, at a lift between low and high. */
double f_above(const problem *p, double t);

/* How far a search goes: see `search`. */
typedef struct {
    double threshold;
    int64_t each, most_nodes;
    bool only_best;
    int64_t tabled;
} limits;

/* The columns that a search finds; there is room for n * each. */
typedef struct {
    bool *sets; /* one row of n flags a column: its full symbols */
    int64_t *partial;
    double *values;
    int64_t count, nodes;
    double bound;
} columns;

/* The memory of searches of one size. new_workspace returns NULL if there is not enough. */
typedef struct workspace workspace;
workspace *new_workspace(int64_t n, int64_t each, int64_t tabled);
void free_workspace(workspace *w);

void search(const problem *p, limits l, workspace *w, columns *found);

/* The order of n keys from the largest down, equal ones as they come; `spare` is room for n numbers. */
void descending(int64_t n, const double *keys, int64_t *order, int64_t *spare);

/* What each symbol takes of the capacity when it is full, and what it gains. */
void weights_and_profits(const problem *p, double *weight, double *profit);

#endif
