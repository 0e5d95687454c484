/* What the sources share. No dependency but the C library; called from Python through ctypes.

   Every exported function trusts its arguments: the Python module that wraps it checks types, lengths and ranges
   first, so that no call from Python reads or writes outside an array. */

#ifndef EXTREMAL_NATIVE_H
#define EXTREMAL_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define OUT_OF_MEMORY (-1)

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* One column generation problem, in units of weight: symbol i may take z_i in [0, w_i], w_i = pi_i (high - low), of
   `capacity`; its lift is low + z_i / pi_i. `f` is the table described at f_above. */
typedef struct {
    int64_t n;
    const double *pi;
    const double *y;
    double capacity, low, high;
    const double *f; /* 3 rows of cells + 1 */
    int64_t cells;
} problem;

/* Where a search puts the columns it finds: room for n * each of them. */
typedef struct {
    uint8_t *sets; /* one row of n flags a column */
    int64_t *partial;
    double *values;
    int64_t count, nodes;
    double bound;
} columns;

/* How far a search goes; see `search`. */
typedef struct {
    double threshold;
    int64_t each, most_nodes;
    bool only_best;
    int64_t tabled;
} limits;

/* The memory a search needs, made once for searches of one size. */
typedef struct workspace workspace;
workspace *new_workspace(int64_t n, int64_t each, int64_t tabled);
void free_workspace(workspace *w);

void search(const problem *p, const limits *l, workspace *w, columns *found);

/* order: the keys from the largest down, equal ones as they come; spare: room for n. */
void descending(int64_t n, const double *keys, int64_t *order, int64_t *spare);
void weights_and_profits(const problem *p, double *weight, double *profit);
double f_above(const problem *p, double t);

#endif
