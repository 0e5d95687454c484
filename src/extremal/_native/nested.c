/* Lift vectors that are admissible for a set of priors, see `cone`: local search. */

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 4e-15

enum { NONE = 0, MIDDLE = 1, TOP = 2 };

typedef struct {
    double pi, center, lower, upper, y, one; /* `one` is the sum of W 1 */
} sums;

typedef struct {
    cone k;
    int64_t n;
    double all_upper;
    const double *W, *y, *w1;
    int64_t *level;
    double *wS, *wR; /* W 1_S, W 1_R */
    sums S, R;
    double SS, SR, RR;
} climber;

static double least(const climber *s, const sums *a) {
    return larger(larger(a->center - s->k.moved, a->lower), 1.0 - (s->all_upper - a->upper));
}

/* The two levels of the lift vector of S and R; false if there is none. */
static bool levels(const climber *s, const sums *S, const sums *R, double *top, double *middle) {
    const double need = 1.0 / s->k.c, inner = least(s, S);
    double share = 0.0;
    if (inner < need * (1.0 - ROUNDING)) {
        const sums both = {S->pi + R->pi, S->center + R->center, S->lower + R->lower, S->upper + R->upper, 0.0, 0.0};
        const double outer = least(s, &both);
        if (outer < need || outer <= inner) return false;
        share = smaller((need - inner) / (outer - inner), 1.0);
    }
    const double mass = S->pi + share * R->pi;
    if (!(mass > 1e-300)) return false;
    *top = 1.0 / mass;
    *middle = share / mass;
    return true;
}

static double worth(const climber *s, const sums *S, const sums *R, double SS, double SR, double RR) {
    double a, b;
    if (!levels(s, S, R, &a, &b)) return -INFINITY;
    return a * (a * SS - 2 * S->one - S->y) + b * (b * RR + 2 * a * SR - 2 * R->one - R->y);
}

static sums moved_by(const sums *a, const climber *s, int64_t i, double by) {
    const sums b = {a->pi + by * s->k.pi[i],       a->center + by * s->k.center[i], a->lower + by * s->k.lower[i],
                    a->upper + by * s->k.upper[i], a->y + by * s->y[i],             a->one + by * s->w1[i]};
    return b;
}

/* What the lift vector would be worth with symbol i at another level, and if j >= 0 symbol j at that of i. */
static double after(const climber *s, int64_t i, int64_t to, int64_t j) {
    const int64_t from = s->level[i];
    const double ds = (double)((to == TOP) - (from == TOP)), dr = (double)((to == MIDDLE) - (from == MIDDLE));
    sums S = moved_by(&s->S, s, i, ds), R = moved_by(&s->R, s, i, dr);
    double along_S = s->wS[i], along_R = s->wR[i], own = s->W[i * s->n + i];
    if (j >= 0) {
        S = moved_by(&S, s, j, -ds);
        R = moved_by(&R, s, j, -dr);
        along_S -= s->wS[j];
        along_R -= s->wR[j];
        own += s->W[j * s->n + j] - 2 * s->W[i * s->n + j];
    }
    return worth(s, &S, &R, s->SS + ds * (2 * along_S + ds * own), s->SR + ds * along_R + dr * along_S + ds * dr * own,
                 s->RR + dr * (2 * along_R + dr * own));
}

/* Move symbol i to another level. */
static void put(climber *s, int64_t i, int64_t to) {
    const int64_t n = s->n, from = s->level[i];
    const double ds = (double)((to == TOP) - (from == TOP)), dr = (double)((to == MIDDLE) - (from == MIDDLE));
    const double *row = s->W + i * n;
    s->SR += ds * s->wR[i] + dr * s->wS[i] + ds * dr * row[i];
    s->SS += ds * (2 * s->wS[i] + ds * row[i]);
    s->RR += dr * (2 * s->wR[i] + dr * row[i]);
    s->S = moved_by(&s->S, s, i, ds);
    s->R = moved_by(&s->R, s, i, dr);
    for (int64_t j = 0; j < n; j++) {
        s->wS[j] += ds * row[j];
        s->wR[j] += dr * row[j];
    }
    s->level[i] = to;
}

/* All sums for the current levels, from scratch. */
static void refresh(climber *s) {
    memset(&s->S, 0, sizeof(sums));
    memset(&s->R, 0, sizeof(sums));
    memset(s->wS, 0, (size_t)s->n * sizeof(double));
    memset(s->wR, 0, (size_t)s->n * sizeof(double));
    s->SS = s->SR = s->RR = 0.0;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t level = s->level[i];
        s->level[i] = NONE;
        if (level != NONE) put(s, i, level);
    }
}

static void climb_levels(climber *s, int64_t first, int64_t sweeps) {
    const int64_t n = s->n;
    refresh(s);
    double now = worth(s, &s->S, &s->R, s->SS, s->SR, s->RR);
    if (!(now > -INFINITY)) { /* no such vector: everything else in the middle is one */
        for (int64_t i = 0; i < n; i++)
            if (s->level[i] != TOP) s->level[i] = MIDDLE;
        refresh(s);
        now = worth(s, &s->S, &s->R, s->SS, s->SR, s->RR);
    }
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        bool moved = false;
        for (int64_t turn = 0; turn < n; turn++) {
            const int64_t i = (turn + first) % n;
            double best = now + 1e-12 * fabs(now);
            int64_t to = -1, who = -1;
            for (int64_t level = NONE; level <= TOP; level++) {
                if (level == s->level[i]) continue;
                const double value = after(s, i, level, -1);
                if (value > best) best = value, to = level, who = -1;
            }
            for (int64_t j = 0; j < n; j++) {
                if (s->level[j] == s->level[i]) continue;
                const double value = after(s, i, s->level[j], j);
                if (value > best) best = value, to = s->level[j], who = j;
            }
            if (to < 0) continue;
            moved = true;
            if (who >= 0) put(s, who, s->level[i]);
            put(s, i, to);
            now = worth(s, &s->S, &s->R, s->SS, s->SR, s->RR);
        }
        if (!moved) break;
    }
}

/* x'Wx - y.x: W = C^-1 G C^-1 and `inverse` = C^-1 over all symbols change by what each vector that is found, times
   `weight`, adds to C, and the prices y by `pull` times the sum of the vectors before. */
typedef struct {
    double *inverse, *W;
    const double *y, *pull;
    double weight;
} herd;

/* Lift vectors less 1, as rows of X, reached from `rows` given levels, one search after another. */
EXPORT int64_t extremal_herd_levels(const cone *k, const herd *h, int64_t rows, int64_t sweeps, int64_t *level, double *X) {
    const int64_t n = k->n;
    const double weight = h->weight;
    double *inverse = h->inverse, *W = h->W;
    double *room = calloc((size_t)(7 * n), sizeof(double));
    if (room == NULL) return OUT_OF_MEMORY;
    double *price = room, *sum = room + n, *u = room + 2 * n, *v = room + 3 * n, *w1 = room + 6 * n;
    climber s = {.k = *k, .n = n, .W = W, .y = price, .w1 = w1, .wS = room + 4 * n, .wR = room + 5 * n};
    for (int64_t i = 0; i < n; i++) s.all_upper += k->upper[i];
    for (int64_t a = 0; a < rows; a++) {
        double *x = X + a * n, top = 1.0, middle = 1.0;
        const double grown = 1.0 + (double)a * weight;
        for (int64_t i = 0; i < n; i++) {
            price[i] = (h->y[i] + h->pull[i] * sum[i]) / (grown * grown);
            w1[i] = 0.0;
            for (int64_t j = 0; j < n; j++) w1[i] += W[i * n + j];
        }
        s.level = level + a * n;
        climb_levels(&s, a % n, sweeps);
        refresh(&s); /* without what rounding added up to */
        if (!levels(&s, &s.S, &s.R, &top, &middle)) {
            for (int64_t i = 0; i < n; i++) x[i] = 0.0;
            continue;
        }
        for (int64_t i = 0; i < n; i++)
            x[i] = (s.level[i] == TOP ? top : s.level[i] == MIDDLE ? middle : 0.0) - 1.0;
        double through = 0.0, gamma = 0.0;
        for (int64_t i = 0; i < n; i++) {
            u[i] = v[i] = 0.0;
            for (int64_t j = 0; j < n; j++) {
                v[i] += inverse[i * n + j] * x[j];
                u[i] += W[i * n + j] * x[j];
            }
            through += v[i] * x[i];
            gamma += u[i] * x[i];
            sum[i] += x[i];
        }
        const double f = weight / (1.0 + weight * through);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                inverse[i * n + j] -= f * (v[i] * v[j]);
                W[i * n + j] += f * (f * gamma * (v[i] * v[j]) - (v[i] * u[j] + u[i] * v[j]));
            }
    }
    free(room);
    return 0;
}
