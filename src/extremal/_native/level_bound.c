/* A bound on sum_i d_i l_i^2 - sum_ij (low + high)_ij l_i l_j - |a'l|^2 - y.l over all lift vectors l admissible for a set
   of priors.

   Extremal ones have two levels, t on S and b on R, 0 elsewhere, with t pi(S) + b pi(R) = 1 and
   b h(S and R) + (t - b) h(S) >= t / c, where h is the largest of three linear functions of the set. A branch fixes which
   of them: h(S and R) is kA + vA(S and R), h(S) is kB + vB(S). For any rho and theta >= 0 no vector of the branch
   exceeds

       F = rho + theta (b kA + (t - b) kB - t / c) + sum_i max(g_i(0), g_i(b), g_i(t)),

   g_i the terms of symbol i. Products of two lifts are at least l (l_i + l_j) - l^2 for l = t, weighed by `high`, and for
   a lower level l, weighed by `low`: 0, or b where no lift is 0, or b with b (t - b) paid for every product of a 0 and a
   t, by the symbol at 0 (PAID_BELOW) or by that at t (PAID_ABOVE). -|a'l|^2 is at most |v|^2 - 2 v.a'l for every v, of
   which a cell has one. Cells are ranges of t and of b / t, and the levels that each symbol may have. With tangents in
   place of what is concave, F is convex along each of the two ranges, so in a cell it is largest in a corner.

   Cells form a tree. Where the ranges make the bound large they are halved; where it is symbols that the best multipliers
   put at two levels at once, one of them gets a level in one half and not in the other. */

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAID_BELOW 1
#define PAID_ABOVE 2
#define STEPS 40
#define FAR 20 /* steps, each four times the last, to where a multiplier may be */
#define NEAR_RHO 0.02 /* how near the least F is found, in parts of the slack */
#define NEAR_THETA 0.1
#define SMALLEST 1e-6 /* ranges of levels, in parts of t */
#define CENTRED 6 /* steps to the best v of a cell */
#define OFF 0.1 /* what v may cost, in parts of the slack */
#define RANK 8 /* columns of a */
#define COLUMNS (6 + RANK)
#define LANES 4 /* symbols that are looked at together */
#define OFTEN 32 /* cells between two looks at the clock */

enum { NONE = 0, MIDDLE = 1, TOP = 2 };
enum { LEAF = -1, HALVE_T = 0, HALVE_B = 1, SYMBOLS = 2 }; /* SYMBOLS + 3 i + level: symbol i at a level, or not */
#define MAY(level) (1u << (level))

typedef struct {
    int64_t n;
    const double *pi, *d, *y, *low, *high; /* the last two: sums of the pairs' weights of each symbol */
    const double *a; /* n x RANK */
    const double *kA, *kB, *vA, *vB;
    const double *all; /* 1 for a branch in which every symbol is in S or R */
    double all_low, all_high, need, scale; /* sums of all pairs' weights; 1 / c; the size of multipliers */
    double slack, blur; /* blur: what rounding may hide, in parts of multipliers */
    bool wide; /* whether the processor takes all lanes at once; blur and wide are found out here */
} program;

/* How far a tree of cells grows, and what comes of it. */
typedef struct {
    int64_t branches;
    double top, target, seconds;
    int64_t most, count, kept;
    double *cells, *found;
    int64_t *leaves;
} growth;

typedef struct {
    double t0, t1, b0, b1, rho, theta, bound, v[RANK]; /* b0 and b1 in parts of t */
    int64_t branch, mode, split, child;
} cell;

/* F at one pair of levels, as far as it does not depend on multipliers: what each symbol adds in S, in R and in neither. */
typedef struct {
    double t, b, fixed, constant;
    double *in_S, *in_R, *none, *inner; /* inner: what a symbol in S adds to the constraint of the set */
} corner;

typedef struct {
    const program *p;
    double *pi, *vA; /* of the program, and of the branch */
    corner at[4];
    int count;
    double *along, square; /* 2 a v, |v|^2 */
} table; /* behind the n numbers of each array, zeros up to a multiple of LANES */

/* F with its slopes, and where it is largest. */
typedef struct {
    double value, by_rho, by_theta;
    int corner;
} reached;

/* a v^2, or what lies above it and is linear: the tangent in the middle. */
static inline double square(double a, double v, double middle) {
    return a >= 0 ? a * v * v : a * middle * (2 * v - middle);
}

/* Tabulate a corner of a cell; symbols that are too heavy for S there are not in it. */
static void tabulate(const program *p, const cell *c, const uint8_t *may, double t, double ratio, corner *k) {
    const double b = ratio * t;
    const double *vA = p->vA + c->branch * p->n, *vB = p->vB + c->branch * p->n;
    const bool all = p->all[c->branch] > 0;
    const bool tangent = all || c->mode; /* the lower level is b */
    const double tm = (c->t0 + c->t1) / 2, bm = tm * (c->b0 + c->b1) / 2, least = tangent ? b : 0.0;
    const double product = ratio * tm * (2 * t - tm); /* at most b t, linear in t */
    const double rest = all ? c->b0 * c->t0 : 0.0;
    k->t = t, k->b = b;
    k->fixed = b * p->kA[c->branch] + (t - b) * p->kB[c->branch] - t * p->need;
    k->constant = least * least * p->all_low + t * t * p->all_high;
    for (int64_t i = 0; i < p->n; i++) {
        const double paid = square(-2 * p->low[i], b, bm);
        double in_S = square(p->d[i] - 2 * p->high[i], t, tm) - t * p->y[i];
        in_S += c->mode == PAID_ABOVE ? paid : tangent ? -2 * p->low[i] * product : 0.0;
        const double in_R = square(tangent ? p->d[i] - 2 * p->low[i] : p->d[i], b, bm) - b * p->y[i] - 2 * p->high[i] * product;
        const double none = c->mode == PAID_BELOW ? 2 * p->low[i] * b * t + paid : 0.0;
        const bool heavy = p->pi[i] * c->t0 + (1.0 - p->pi[i]) * rest > 1.0 + 1e-12;
        k->in_S[i] = may[i] & MAY(TOP) && !heavy ? in_S : -INFINITY;
        k->in_R[i] = may[i] & MAY(MIDDLE) ? in_R : -INFINITY;
        k->none[i] = may[i] & MAY(NONE) ? none : -INFINITY;
        k->inner[i] = b * vA[i] + (t - b) * vB[i];
    }
}

static void tabulate_corners(const program *p, const cell *c, const uint8_t *may, table *q) {
    q->p = p, q->count = 0;
    memcpy(q->vA, p->vA + c->branch * p->n, (size_t)p->n * sizeof(double));
    for (int k = 0; k < 4; k++) {
        if ((k & 1 && c->t0 == c->t1) || (k & 2 && c->b0 == c->b1)) continue;
        tabulate(p, c, may, k & 1 ? c->t1 : c->t0, k & 2 ? c->b1 : c->b0, &q->at[q->count++]);
    }
}

/* Let F be that for a v. */
static void take(table *q, const double *v) {
    q->square = 0.0;
    for (int k = 0; k < RANK; k++) q->square += v[k] * v[k];
    for (int64_t i = 0; i < q->p->n; i++) {
        double sum = 0.0;
        for (int k = 0; k < RANK; k++) sum += q->p->a[RANK * i + k] * v[k];
        q->along[i] = 2 * sum;
    }
}

/* Several symbols at once, and which of two numbers to take for each. */
typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t masks __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
#define FROM(array) (*(const lanes *)((array) + i))
#define EITHER(first, x, y) ((lanes)(((first) & (masks)(x)) | (~(first) & (masks)(y))))

static inline __attribute__((always_inline)) reached by_lanes(const table *q, int which, double rho, double theta,
                                                              int8_t *chosen) {
    const program *p = q->p;
    const corner *k = &q->at[which];
    const double t = k->t, b = k->b, outer = theta * b, *own = q->pi, *vA_ = q->vA, *along = q->along;
    const double *inner_ = k->inner, *none_ = k->none, *in_S_ = k->in_S, *in_R_ = k->in_R;
    const lanes zero = {0.0};
    lanes total = zero, mass = zero, held = zero;
    for (int64_t i = 0; i < p->n; i += LANES) { /* what is beyond n is 0, and so is its part of each sum */
        const lanes pi = FROM(own), vA = FROM(vA_), inner = FROM(inner_), none = FROM(none_);
        const lanes price = rho * pi + FROM(along);
        const lanes in_S = FROM(in_S_) - t * price + theta * inner, in_R = FROM(in_R_) - b * price + outer * vA;
        const masks S = (in_S >= in_R) & (in_S >= none), R = in_R >= none;
        total += EITHER(S, in_S, EITHER(R, in_R, none));
        mass += pi * EITHER(S, t + zero, EITHER(R, b + zero, zero));
        held += EITHER(S, inner, EITHER(R, b * vA, zero));
        for (int64_t j = 0; chosen && j < LANES && i + j < p->n; j++) chosen[i + j] = S[j] ? TOP : R[j] ? MIDDLE : NONE;
    }
    for (int j = 1; j < LANES; j++) total[0] += total[j], mass[0] += mass[j], held[0] += held[j];
    const double hidden = p->blur * (fabs(rho) * (1.0 + t) + 3 * theta * t);
    const reached r = {rho + theta * k->fixed + total[0] + k->constant + q->square + hidden, 1.0 - mass[0],
                       k->fixed + held[0], which};
    return r;
}

#if defined(__x86_64__)
/* The same numbers to the last bit, in half of the time, where the processor has registers of 32 bytes. */
__attribute__((target("avx2"))) static reached by_wide_lanes(const table *q, int which, double rho, double theta,
                                                             int8_t *chosen) {
    return by_lanes(q, which, rho, theta, chosen);
}
#else
#define by_wide_lanes by_lanes
#endif

/* F in one corner. `chosen`, if given, gets the level of each symbol. */
static reached in_corner(const table *q, int which, double rho, double theta, int8_t *chosen) {
    return q->p->wide ? by_wide_lanes(q, which, rho, theta, chosen) : by_lanes(q, which, rho, theta, chosen);
}

static reached corners(const table *q, double rho, double theta) {
    reached most = in_corner(q, 0, rho, theta, NULL);
    for (int k = 1; k < q->count; k++) {
        const reached r = in_corner(q, k, rho, theta, NULL);
        if (r.value > most.value) most = r;
    }
    return most;
}

/* What is chosen with some multipliers, and its weight in a mixture. */
typedef struct {
    double rho, theta, weight;
    int corner;
} side;

/* The least F by one multiplier, or by two: where, its slopes by the others, whether it is a minimum (else it goes on falling),
   and the sides of it, of which a mixture has the slope 0. */
typedef struct {
    double x, value, slope;
    bool met;
    side best, sides[4];
} point;

/* Where the tangents of two points meet, or the middle; `lowest` gets the value there. */
static double between(const point *l, const point *h, int k, double *lowest) {
    const double slopes = h->slope - l->slope;
    double x = slopes > 0.0 ? (l->value - h->value + h->slope * h->x - l->slope * l->x) / slopes : l->x;
    if (!(x > l->x && x < h->x)) x = (l->x + h->x) / 2;
    *lowest = l->value + l->slope * (x - l->x);
    return k % 4 == 3 ? (l->x + h->x) / 2 : x;
}

/* The weight of the second of two points in the mixture of slope 0. */
static double share_of(const point *l, const point *h) {
    const double slopes = h->slope - l->slope;
    return slopes > 0.0 ? smaller(larger(-l->slope / slopes, 0.0), 1.0) : h->value <= l->value ? 1.0 : 0.0;
}

typedef struct {
    point at;
    double by_theta;
} by_rho;

static by_rho try_rho(const table *q, double rho, double theta) {
    const reached r = corners(q, rho, theta);
    by_rho x;
    memset(&x, 0, sizeof(x));
    x.at.x = rho, x.at.value = r.value, x.at.slope = r.by_rho;
    x.at.best = (side){rho, theta, 1.0, r.corner};
    x.by_theta = r.by_theta;
    return x;
}

/* The least F by rho, or any F that is at most `enough`, as a point of theta. */
static point least_rho(const table *q, double start, double theta, double enough, int far) {
    const program *p = q->p;
    by_rho l = try_rho(q, start, theta), h = l;
    double step = 1e-3 * p->scale, lowest;
    for (int k = 0; h.at.slope < 0.0 && h.at.value > enough && k < far; k++, step *= 4) {
        l = h;
        h = try_rho(q, h.at.x + step, theta);
    }
    for (int k = 0; l.at.slope > 0.0 && l.at.value > enough && k < far; k++, step *= 4) {
        h = l;
        l = try_rho(q, l.at.x - step, theta);
    }
    for (int k = 0; k < STEPS && l.at.slope < 0.0 && h.at.slope > 0.0; k++) {
        const double best = smaller(l.at.value, h.at.value), middle = between(&l.at, &h.at, k, &lowest);
        if (best <= enough || best - lowest <= NEAR_RHO * p->slack) break;
        const by_rho x = try_rho(q, middle, theta);
        *(x.at.slope < 0.0 ? &l : &h) = x;
    }
    const double share = share_of(&l.at, &h.at);
    point x;
    memset(&x, 0, sizeof(x));
    x.x = theta;
    x.value = smaller(l.at.value, h.at.value);
    x.slope = share * h.by_theta + (1.0 - share) * l.by_theta;
    x.met = l.at.slope <= 0.0 && h.at.slope >= 0.0;
    x.best = l.at.value < h.at.value ? l.at.best : h.at.best;
    x.sides[0] = l.at.best, x.sides[1] = h.at.best;
    x.sides[0].weight = 1.0 - share, x.sides[1].weight = share;
    return x;
}

/* The least F by rho and theta from those of a cell on, or any F that is at most `enough`. */
static point settle(const table *q, const cell *c, double enough, int far) {
    const program *p = q->p;
    point l = least_rho(q, c->rho, c->theta, enough, far), h = l;
    double lowest;
    for (int k = 0; l.slope > 0.0 && l.x > 0.0 && l.value > enough; k++) {
        h = l;
        l = least_rho(q, h.best.rho, k < 2 ? h.x / 4 : 0.0, enough, far);
    }
    for (int k = 0; h.slope < 0.0 && h.value > enough && k < far; k++) {
        l = h;
        h = least_rho(q, l.best.rho, larger(l.x * 4, 1e-3 * p->scale), enough, far);
    }
    for (int k = 0; k < STEPS && l.slope < 0.0 && h.slope > 0.0; k++) {
        const double best = smaller(l.value, h.value), middle = between(&l, &h, k, &lowest);
        if (best <= enough || best - lowest <= NEAR_THETA * p->slack) break;
        const point x = least_rho(q, (l.value < h.value ? l : h).best.rho, middle, enough, far);
        *(x.slope < 0.0 ? &l : &h) = x;
    }
    const double share = l.slope >= 0.0 ? 0.0 : share_of(&l, &h);
    point x = l.value < h.value ? l : h;
    x.met = l.met && h.met && h.slope >= 0.0;
    for (int k = 0; k < 2; k++) {
        x.sides[k] = l.sides[k], x.sides[2 + k] = h.sides[k];
        x.sides[k].weight *= 1.0 - share, x.sides[2 + k].weight *= share;
    }
    return x;
}

/* a'l of the mixture of the sides of a point, which is where v is best, less v; `levels` has room for n. */
static void off_centre(const table *q, const cell *c, const point *x, int8_t *levels, double off[RANK]) {
    const program *p = q->p;
    for (int k = 0; k < RANK; k++) off[k] = -c->v[k];
    for (int side_ = 0; side_ < 4; side_++) {
        const double w = x->sides[side_].weight;
        const corner *at = &q->at[x->sides[side_].corner];
        if (!(w > 0.0)) continue;
        in_corner(q, x->sides[side_].corner, x->sides[side_].rho, x->sides[side_].theta, levels);
        for (int64_t i = 0; i < p->n; i++) {
            const double lift = levels[i] == TOP ? at->t : levels[i] == MIDDLE ? at->b : 0.0;
            for (int k = 0; k < RANK; k++) off[k] += w * lift * p->a[RANK * i + k];
        }
    }
}

/* The multipliers and v of about the least bound of a cell, or of one that is at most `enough`. */
static void tighten(const program *p, cell *c, const uint8_t *may, double enough, table *q, int8_t *levels) {
    tabulate_corners(p, c, may, q);
    cell best = *c;
    double off[RANK] = {0.0}, step = 1.0;
    for (int k = 0; k < CENTRED; k++) {
        take(q, c->v);
        const point x = settle(q, c, enough, FAR);
        c->rho = x.best.rho, c->theta = x.best.theta, c->bound = x.value;
        if (k == 0 || c->bound < best.bound) {
            double size = 0.0;
            best = *c;
            if (x.value <= enough || !x.met) break;
            off_centre(q, c, &x, levels, off);
            for (int j = 0; j < RANK; j++) size += off[j] * off[j];
            if (size <= OFF * p->slack) break;
        } else
            step *= 0.4;
        *c = best;
        for (int j = 0; j < RANK; j++) c->v[j] += step * off[j];
    }
    *c = best;
}

/* A relaxed vector: what a bound says of it is linear in these, and minus the square of a.l. See Relaxed in cone.py. */
typedef struct {
    double *lifts, *squares, *low, *high, *both; /* n numbers each, but two of `both` */
} relaxed;

/* The mixture of sides that attains the bound of a cell, as far as its multipliers are the best. `split` gets the symbol that
   counts most of those at two levels, as SYMBOLS + 3 i + level, LEAF if there is none. `levels` has room for 4 n. */
static void mix(const program *p, const cell *c, const uint8_t *may, table *q, int8_t *levels, const relaxed *r,
                int64_t *split) {
    tabulate_corners(p, c, may, q);
    take(q, c->v);
    const point x = settle(q, c, -INFINITY, FAR);
    const int64_t n = p->n;
    const bool tangent = p->all[c->branch] > 0 || c->mode;
    const double tm = (c->t0 + c->t1) / 2, bm = tm * (c->b0 + c->b1) / 2;
    double most = 0.0;
    *split = LEAF;
    r->both[0] = r->both[1] = 0.0;
    for (int k = 0; k < 4; k++) {
        const corner *at = &q->at[x.sides[k].corner];
        in_corner(q, x.sides[k].corner, x.sides[k].rho, x.sides[k].theta, levels + k * n);
        r->both[0] += tangent ? x.sides[k].weight * at->b * at->b : 0.0;
        r->both[1] += x.sides[k].weight * at->t * at->t;
    }
    for (int64_t i = 0; i < n; i++) {
        double lift = 0.0, squares = 0.0, low = 0.0, high = 0.0, mean = 0.0, spread = 0.0, even = 0.0, even_spread = 0.0;
        bool top = false;
        for (int k = 0; k < 4; k++) {
            const corner *at = &q->at[x.sides[k].corner];
            const double w = x.sides[k].weight, t = at->t, b = at->b, product = b / t * tm * (2 * t - tm);
            const double paid = bm * (2 * b - bm);
            const int8_t level = levels[k * n + i];
            const double place = level == TOP ? tm : level == MIDDLE ? bm : 0.0;
            if (level == TOP) {
                const double own = p->d[i] >= 2 * p->high[i] ? t * t : tm * (2 * t - tm);
                lift += w * t, squares += w * own, high += w * own;
                low += c->mode == PAID_ABOVE ? w * paid : tangent ? w * product : 0.0;
            } else if (level == MIDDLE) {
                const double own = !tangent || p->d[i] >= 2 * p->low[i] ? b * b : paid;
                lift += w * b, squares += w * own, high += w * product;
                low += tangent ? w * own : 0.0;
            } else if (c->mode == PAID_BELOW)
                low += w * (paid - b * t);
            mean += w * place, spread += w * place * place, even += place / 4, even_spread += place * place / 4;
            top = top || level == TOP;
        }
        r->lifts[i] = lift, r->squares[i] = squares, r->low[i] = low, r->high[i] = high;
        /* A little by what is at two levels at all, as weights may be 0. */
        const double counts = p->d[i] * (spread - mean * mean + 1e-3 * (even_spread - even * even));
        if (counts > most) most = counts, *split = SYMBOLS + 3 * i + (top ? TOP : NONE);
    }
}

/* The value of the vector with these levels, as cells of no size count it; -inf if its levels are not in the cell. */
static double attained(const program *p, const cell *c, const uint8_t *may, const int8_t *level, corner *k) {
    const double *vA = p->vA + c->branch * p->n, *vB = p->vB + c->branch * p->n;
    double outer = p->kA[c->branch], inner = p->kB[c->branch], mass = 0.0, along[RANK] = {0.0}, total = 0.0;
    for (int64_t i = 0; i < p->n; i++) {
        if (level[i] != NONE) outer += vA[i];
        if (level[i] == TOP) inner += vB[i], mass += p->pi[i];
    }
    const double r = inner < p->need ? (p->need - inner) / (outer - inner) : 0.0;
    for (int64_t i = 0; i < p->n; i++) mass += level[i] == MIDDLE ? r * p->pi[i] : 0.0;
    const double t = 1.0 / mass;
    if (!(r >= c->b0 && r <= c->b1 && t >= c->t0 && t <= c->t1)) return -INFINITY;
    cell exact = *c;
    exact.t0 = exact.t1 = t, exact.b0 = exact.b1 = r;
    tabulate(p, &exact, may, t, r, k);
    for (int64_t i = 0; i < p->n; i++) {
        const double lift = level[i] == TOP ? t : level[i] == MIDDLE ? r * t : 0.0;
        for (int j = 0; j < RANK; j++) along[j] += p->a[RANK * i + j] * lift;
        total += level[i] == TOP ? k->in_S[i] : level[i] == MIDDLE ? k->in_R[i] : k->none[i];
    }
    for (int j = 0; j < RANK; j++) total -= along[j] * along[j];
    return total + k->constant;
}

typedef struct {
    cell *cells;
    uint8_t *may; /* n for each */
    int64_t count, waiting;
    queued *heap;
} tree;

static void wait_in_line(tree *w, int64_t which) {
    push(w->heap, w->waiting++, (queued){w->cells[which].bound, which});
}

/* The two cells that a split makes of one, written from `first` on. */
static void halve(const program *p, tree *w, int64_t which, int64_t split, int64_t first) {
    const int64_t n = p->n;
    for (int64_t k = 0; k < 2; k++) {
        cell *c = &w->cells[first + k];
        uint8_t *may = w->may + (first + k) * n;
        *c = w->cells[which];
        c->split = LEAF, c->child = 0;
        memcpy(may, w->may + which * n, (size_t)n);
        if (split == HALVE_T)
            *(k ? &c->t0 : &c->t1) = (c->t0 + c->t1) / 2;
        else if (split == HALVE_B)
            *(k ? &c->b0 : &c->b1) = (c->b0 + c->b1) / 2;
        else {
            const unsigned level = MAY((split - SYMBOLS) % 3);
            may[(split - SYMBOLS) / 3] &= (uint8_t)(k ? ~level : level);
        }
    }
}

/* The bound of a cell, in its mode or in the best of all three. */
static void value(const program *p, cell *c, const uint8_t *may, bool modes, double enough, table *q, int8_t *levels) {
    const cell before = *c;
    tighten(p, c, may, enough, q, levels);
    for (int64_t mode = 0; modes && mode <= (p->all[c->branch] > 0 ? 0 : PAID_ABOVE) && c->bound > enough; mode++) {
        if (mode == before.mode) continue;
        cell other = before;
        other.mode = mode;
        tighten(p, &other, may, enough, q, levels);
        if (other.bound < c->bound) *c = other;
    }
}

/* Split a cell in the way that lowers the bounds most: two new cells from w->count on. False if a vector of it comes near
   its bound, or if no way changes more than rounding. There is room for four more. */
static bool split_best(const program *p, tree *w, int64_t which, double enough, table *q, int8_t *levels, const relaxed *r) {
    const cell *c = &w->cells[which];
    const int64_t n = p->n, first = w->count;
    int64_t ways[3] = {LEAF, LEAF, LEAF}, chosen = LEAF;
    const double over = c->bound - enough;
    double best = -1.0;
    mix(p, c, w->may + which * n, q, levels, r, &ways[0]);
    for (int k = 0; k < 4; k++)
        if (attained(p, c, w->may + which * n, levels + k * n, &q->at[0]) >= c->bound - p->slack) return false;
    if (c->t1 - c->t0 > SMALLEST * c->t1) ways[1] = HALVE_T;
    if (c->b1 - c->b0 > SMALLEST) ways[2] = HALVE_B;
    for (int k = 0; k < 3; k++) {
        if (ways[k] == LEAF) continue;
        const int64_t place = chosen == LEAF ? first : first + 2;
        double score = 1.0;
        halve(p, w, which, ways[k], place);
        for (int64_t j = place; j < place + 2; j++) {
            value(p, &w->cells[j], w->may + j * n, false, enough, q, levels);
            score *= larger(smaller(c->bound - w->cells[j].bound, over), 1e-3 * over);
        }
        if (score <= best) continue;
        best = score, chosen = ways[k];
        if (place == first) continue;
        memcpy(w->cells + first, w->cells + place, 2 * sizeof(cell));
        memcpy(w->may + first * n, w->may + place * n, (size_t)(2 * n));
    }
    if (chosen == LEAF) return false;
    w->cells[which].split = chosen;
    w->cells[which].child = first;
    w->count += 2;
    for (int64_t j = first; j < first + 2 && chosen < SYMBOLS; j++) {
        cell other = w->cells[j];
        value(p, &other, w->may + j * n, true, enough, q, levels);
        if (other.bound < w->cells[j].bound) w->cells[j] = other;
    }
    return true;
}

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether rows of cells are trees, one for each branch, so that every cell is made from one before it. `seen` has a number for
   each. */
static bool are_trees(const double *cells, int64_t count, int64_t branches, int64_t n, int64_t *seen) {
    for (int64_t k = 0; k < count; k++) seen[k] = k < branches;
    for (int64_t k = 0; k < count; k++) {
        const double split = cells[COLUMNS * k], child = cells[COLUMNS * k + 1], mode = cells[COLUMNS * k + 4];
        if (!seen[k] || !(split >= LEAF && split < (double)(SYMBOLS + 3 * n)) || !(mode >= 0 && mode <= PAID_ABOVE)) return false;
        if (split < 0) continue;
        if (!(child > (double)k && child <= (double)(count - 2))) return false;
        for (int64_t j = (int64_t)child; j < (int64_t)child + 2; j++) {
            if (seen[j]) return false;
            seen[j] = 1;
        }
    }
    return count >= branches;
}

/* A tree of cells (split, first of two children, rho, theta, mode, bound, v), at most `most` of them, whose leaves cover all
   levels up to `top` for every branch; the first cells are the roots of the branches. It grows from the `count` cells that are
   there, which may have been made for other weights; from the roots if they are no trees.

   Cells are split until the largest bound is at most `target`, or until so many `seconds` have passed. Relaxed vectors of the
   leaves of largest bounds are written to at most `kept` rows of 4 n + 2 numbers in `found`: lifts, squares, what low and high
   weigh of each symbol, and of all; the leaves' numbers go to `leaves`, followed by -1. Returns the number of cells. */
EXPORT int64_t extremal_bound_levels(program *p, const growth *g) {
    const int64_t n = p->n, most = g->most, branches = g->branches, places = most + 4, row = 4 * n + 2;
    const double target = g->target;
    double *cells = g->cells;
    int64_t count = g->count;
    p->blur = 16 * (double)n * 2.220446049250313e-16;
    p->wide = extremal_widest() > 0;
    const int64_t wide = (n + LANES - 1) / LANES * LANES;
    double *room = calloc((size_t)(19 * wide + 4 * n + 2), sizeof(double));
    int8_t *levels = malloc((size_t)(4 * n));
    tree w = {malloc((size_t)places * sizeof(cell)), malloc((size_t)(places * n)), 0, 0,
              malloc((size_t)places * sizeof(queued))};
    const bool enough_memory = room && levels && w.cells && w.may && w.heap;
    table q;
    for (int k = 0; k < 4 && enough_memory; k++) {
        double *own = room + 4 * k * wide;
        q.at[k].in_S = own, q.at[k].in_R = own + wide, q.at[k].none = own + 2 * wide, q.at[k].inner = own + 3 * wide;
    }
    q.along = room + 16 * wide, q.pi = room + 17 * wide, q.vA = room + 18 * wide;
    if (enough_memory) memcpy(q.pi, p->pi, (size_t)n * sizeof(double));
    const double begin = now();
    bool late = false;
    double start[RANK] = {0.0};
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < RANK; j++) start[j] += p->a[RANK * i + j];
    for (int64_t k = 0; k < branches && enough_memory; k++) {
        const cell root = {1.0, g->top, 0.0, 1.0, 0.0, 0.0, INFINITY, {0.0}, k, 0, LEAF, 0};
        w.cells[k] = root;
        memcpy(w.cells[k].v, start, sizeof(start));
        memset(w.may + k * n, p->all[k] > 0 ? MAY(MIDDLE) | MAY(TOP) : MAY(NONE) | MAY(MIDDLE) | MAY(TOP), (size_t)n);
        w.count++;
    }
    if (!enough_memory || count > most || !are_trees(cells, count, branches, n, (int64_t *)w.heap)) count = 0;
    for (int64_t k = 0; k < count; k++) { /* children come after their parents */
        const double *numbers = cells + COLUMNS * k;
        cell *c = &w.cells[k];
        c->split = (int64_t)numbers[0], c->child = (int64_t)numbers[1], c->mode = (int64_t)numbers[4];
        c->rho = numbers[2], c->theta = numbers[3];
        memcpy(c->v, numbers + 6, sizeof(c->v));
        if (c->split == LEAF) continue;
        halve(p, &w, k, c->split, c->child);
        w.count += 2;
    }
    for (int64_t k = 0; k < w.count && enough_memory; k++) {
        if (w.cells[k].split != LEAF) continue;
        w.cells[k].bound = INFINITY;
        if (k % OFTEN == 0) late = now() - begin > g->seconds;
        if (!late) value(p, &w.cells[k], w.may + k * n, count == 0, target, &q, levels);
        wait_in_line(&w, k);
    }
    double *own = room + 19 * wide;
    const relaxed unused = {own, own + n, own + 2 * n, own + 3 * n, own + 4 * n};
    while (enough_memory && w.waiting > 0 && w.count + 2 <= most && !late) {
        const int64_t which = take_first(w.heap, &w.waiting);
        if (w.cells[which].bound <= target) break;
        if (!split_best(p, &w, which, target, &q, levels, &unused)) continue;
        wait_in_line(&w, w.count - 2);
        wait_in_line(&w, w.count - 1);
        if (w.count / 2 % OFTEN == 0) late = now() - begin > g->seconds;
    }
    w.waiting = 0;
    for (int64_t k = 0; k < w.count && enough_memory; k++) {
        const cell *c = w.cells + k;
        const double numbers[6] = {(double)c->split, (double)c->child, c->rho, c->theta, (double)c->mode, c->bound};
        memcpy(cells + COLUMNS * k, numbers, sizeof(numbers));
        memcpy(cells + COLUMNS * k + 6, c->v, sizeof(c->v));
        if (c->split == LEAF) wait_in_line(&w, k);
    }
    int64_t stored = 0;
    for (; enough_memory && stored < g->kept && w.waiting > 0; stored++) {
        const int64_t which = take_first(w.heap, &w.waiting);
        double *to = g->found + stored * row;
        const relaxed r = {to, to + n, to + 2 * n, to + 3 * n, to + 4 * n};
        int64_t split;
        if (w.cells[which].bound <= target) break;
        mix(p, &w.cells[which], w.may + which * n, &q, levels, &r, &split);
        g->leaves[stored] = which;
    }
    g->leaves[stored] = -1;
    free(room);
    free(levels);
    free(w.cells);
    free(w.may);
    free(w.heap);
    return enough_memory ? w.count : OUT_OF_MEMORY;
}
