/* A bound on sum_i d_i l_i^2 - sum_ij (low + high)_ij l_i l_j - (a.l)^2 - y.l over all lift vectors l admissible for a set
   of priors.

   Extremal ones have two levels, t on S and b on R, 0 elsewhere, with t pi(S) + b pi(R) = 1 and
   b h(S and R) + (t - b) h(S) >= t / c, where h is the largest of three linear functions of the set. A branch fixes which
   of them: h(S and R) is kA + vA(S and R), h(S) is kB + vB(S). For any rho and theta >= 0 no vector of the branch
   exceeds

       F = rho + theta (b kA + (t - b) kB - t / c) + sum_i max(g_i(0), g_i(b), g_i(t)),

   g_i the terms of symbol i. Products of two lifts are at least l (l_i + l_j) - l^2 for l = t, weighed by `high`, and for
   a lower level l, weighed by `low`: 0, or b where no lift is 0, or b with b (t - b) paid for every product of a 0 and a
   t, by the symbol at 0 (PAID_BELOW) or by that at t (PAID_ABOVE). -(a.l)^2 is at most v^2 - 2 v a.l for every v, of
   which a cell has one. Cells are ranges of t and of b / t. With tangents in
   place of what is concave, F is convex along each of the two, so in a cell it is largest in a corner. */

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAID_BELOW 1
#define PAID_ABOVE 2
#define STEPS 45
#define FAR 20 /* steps, each four times the last, to where a multiplier may be */
#define NEAR 1e-7 /* how well multipliers are found, in parts of their scale */
#define NEAR_THETA 1e-4
#define SMALLEST 1e-6 /* ranges of levels, in parts of t */
#define CENTRED 8 /* steps to the best v of a cell */
#define OFF 0.1 /* what v may cost, in parts of the slack */

typedef struct {
    int64_t n;
    const double *pi, *d, *y, *low, *high; /* the last two: sums of the pairs' weights of each symbol */
    const double *a;
    const double *kA, *kB, *vA, *vB;
    const double *all; /* 1 for a branch in which every symbol is in S or R */
    double all_low, all_high, need, scale; /* sums of all pairs' weights; 1 / c; the size of multipliers */
} program;

typedef struct {
    double t0, t1, b0, b1, rho, theta, bound, v; /* b0 and b1 in parts of t */
    int64_t branch, mode;
} cell;

/* F, its slopes by rho and theta. */
typedef struct {
    double value, by_rho, by_theta;
} reached;

/* a v^2, or what lies above it and is linear: the tangent in the middle. */
static inline double square(double a, double v, double middle) {
    return a >= 0 ? a * v * v : a * middle * (2 * v - middle);
}

/* F at the levels t and b = ratio t of a cell; symbols that are too heavy for S there are not in it. `chosen`, if given, gets the
   level of each symbol: 0, b or t. */
static reached at(const program *p, const cell *c, double t, double ratio, double rho, double theta, double *chosen) {
    const double b = ratio * t;
    const double *vA = p->vA + c->branch * p->n, *vB = p->vB + c->branch * p->n;
    const bool all = p->all[c->branch] > 0;
    const double fixed = b * p->kA[c->branch] + (t - b) * p->kB[c->branch] - t * p->need;
    const bool tangent = all || c->mode; /* the lower level is b */
    const double tm = (c->t0 + c->t1) / 2, bm = tm * (c->b0 + c->b1) / 2, least = tangent ? b : 0.0;
    const double product = ratio * tm * (2 * t - tm); /* at most b t, linear in t */
    const double rest = all ? c->b0 * c->t0 : 0.0;
    double total = 0.0, mass = 0.0, held = 0.0;
    for (int64_t i = 0; i < p->n; i++) {
        const double inner = b * vA[i] + (t - b) * vB[i], outer = b * vA[i], price = p->y[i] + rho * p->pi[i] + 2 * c->v * p->a[i];
        double in_S = square(p->d[i] - 2 * p->high[i], t, tm) - t * price + theta * inner, none = 0.0;
        in_S += c->mode == PAID_ABOVE ? square(-2 * p->low[i], b, bm) : tangent ? -2 * p->low[i] * product : 0.0;
        const double in_R = square(tangent ? p->d[i] - 2 * p->low[i] : p->d[i], b, bm) -
                            b * price - 2 * p->high[i] * product + theta * outer;
        if (c->mode == PAID_BELOW) none = 2 * p->low[i] * b * t + square(-2 * p->low[i], b, bm);
        if (p->pi[i] * c->t0 + (1.0 - p->pi[i]) * rest > 1.0 + 1e-12) in_S = -INFINITY;
        const bool S = in_S >= in_R && (all || in_S > none), R = !S && (all || in_R > none);
        total += S ? in_S : R ? in_R : none;
        mass += p->pi[i] * (S ? t : R ? b : 0.0);
        held += S ? inner : R ? outer : 0.0;
        if (chosen) chosen[i] = S ? t : R ? b : 0.0;
    }
    total += least * least * p->all_low + t * t * p->all_high + c->v * c->v;
    const reached r = {rho + theta * fixed + total, 1.0 - mass, fixed + held};
    return r;
}

/* The largest F in the corners of a cell, with its slopes; `where` gets the levels of that corner. */
static reached corners(const program *p, const cell *c, double rho, double theta, double *where) {
    reached most = {-INFINITY, 0.0, 0.0};
    for (int k = 0; k < 4; k++) {
        if ((k & 1 && c->t0 == c->t1) || (k & 2 && c->b0 == c->b1)) continue;
        const double t = k & 1 ? c->t1 : c->t0, b = k & 2 ? c->b1 : c->b0;
        const reached r = at(p, c, t, b, rho, theta, NULL);
        if (r.value > most.value) {
            most = r;
            where[0] = t;
            where[1] = b;
        }
    }
    return most;
}

/* One side of a minimum of F by rho, and of one by theta: multipliers, slopes, and how much the other side of the
   former weighs. */
typedef struct {
    double rho, below, share;
    reached r;
} side;

/* The rho of least F. What is chosen on its two sides can be mixed to have mean 1: `by_theta` is that of the mixture.
   Ends early where F is at most `enough`. */
static side least_rho(const program *p, const cell *c, double start, double theta, double enough) {
    double low = start, high = start, step = 1e-3 * p->scale, where[2];
    reached l = corners(p, c, start, theta, where), h = l;
    if (l.by_rho < 0)
        for (int k = 0; h.by_rho < 0 && h.value > enough && k < FAR; k++) {
            low = high, l = h, high += step, step *= 4;
            h = corners(p, c, high, theta, where);
        }
    else
        for (int k = 0; l.by_rho >= 0 && l.value > enough && k < FAR; k++) {
            high = low, h = l, low -= step, step *= 4;
            l = corners(p, c, low, theta, where);
        }
    for (int k = 0; k < STEPS && high - low > NEAR * p->scale && h.value > enough && l.value > enough; k++) {
        const double middle = (low + high) / 2;
        const reached r = corners(p, c, middle, theta, where);
        if (r.by_rho < 0)
            low = middle, l = r;
        else
            high = middle, h = r;
    }
    if (l.value < h.value && l.value <= enough) high = low, h = l;
    const double slopes = h.by_rho - l.by_rho;
    side s = {high, low, slopes > 0 ? smaller(larger(-l.by_rho / slopes, 0.0), 1.0) : 1.0, h};
    s.r.by_theta = s.share * h.by_theta + (1.0 - s.share) * l.by_theta;
    return s;
}

/* Multipliers of about the least F in the corners of a cell, or of one of at most `enough`, and that F.

   `l` and `h` get the two sides of theta, which are `thetas`; mixed they meet all constraints unless the cell holds no vector. */
static double settle(const program *p, cell *c, double enough, double thetas[2], side *l, side *h) {
    double low = 0.0, high = larger(c->theta, 1e-3 * p->scale);
    *l = *h = least_rho(p, c, c->rho, 0.0, enough);
    if (l->r.by_theta < 0 && l->r.value > enough) {
        for (int k = 0; k < FAR; k++) {
            *h = least_rho(p, c, l->rho, high, enough);
            if (h->r.by_theta >= 0 || h->r.value <= enough) break;
            low = high, *l = *h;
            high *= 4;
        }
        for (int k = 0; k < STEPS && high - low > NEAR_THETA * high && h->r.value > enough && l->r.value > enough; k++) {
            const double middle = (low + high) / 2;
            const side s = least_rho(p, c, h->rho, middle, enough);
            if (s.r.by_theta < 0)
                low = middle, *l = s;
            else
                high = middle, *h = s;
        }
    } else
        high = low;
    const bool lower = l->r.value < h->r.value;
    c->rho = lower ? l->rho : h->rho;
    c->theta = lower ? low : high;
    thetas[0] = low, thetas[1] = high;
    return lower ? l->r.value : h->r.value;
}

/* Add `weight` of what is chosen to the lifts and their squares. */
static void add(const program *p, const cell *c, double rho, double theta, double weight, double *room, double *lifts,
                double *squares) {
    double *paid = room + p->n;
    const double t = c->t0, b = c->b0 * t;
    at(p, c, t, c->b0, rho, theta, room);
    for (int64_t i = 0; i < p->n; i++) {
        if ((c->mode == PAID_BELOW && room[i] == 0.0) || (c->mode == PAID_ABOVE && room[i] == t))
            paid[i] += weight * 2 * b * (t - b);
        lifts[i] += weight * room[i];
        squares[i] += weight * room[i] * room[i];
    }
}

/* The largest value of relaxed vectors with the levels in the middle of a cell, and the vector that attains it; -inf if
   there is none. */
static double middle_of(const program *p, const cell *whole, double enough, double *room, double *lifts, double *squares) {
    cell c = *whole;
    c.t0 = c.t1 = (whole->t0 + whole->t1) / 2;
    c.b0 = c.b1 = (whole->b0 + whole->b1) / 2;
    side l, h;
    double thetas[2];
    const double value = settle(p, &c, enough, thetas, &l, &h);
    if (value <= enough || h.r.by_theta < -1e-6 || fabs(h.share * h.r.by_rho) > 1e9) return -INFINITY;
    const double slopes = h.r.by_theta - l.r.by_theta;
    const double weight = slopes > 0 ? smaller(larger(-l.r.by_theta / slopes, 0.0), 1.0) : 1.0;
    memset(room + p->n, 0, (size_t)p->n * sizeof(double));
    memset(lifts, 0, (size_t)p->n * sizeof(double));
    memset(squares, 0, (size_t)p->n * sizeof(double));
    add(p, &c, h.rho, thetas[1], weight * h.share, room, lifts, squares);
    add(p, &c, h.below, thetas[1], weight * (1 - h.share), room, lifts, squares);
    add(p, &c, l.rho, thetas[0], (1 - weight) * l.share, room, lifts, squares);
    add(p, &c, l.below, thetas[0], (1 - weight) * (1 - l.share), room, lifts, squares);
    return value;
}

static void sift_up(cell *heap, int64_t k) {
    while (k > 0 && heap[(k - 1) / 2].bound < heap[k].bound) {
        const cell c = heap[k];
        heap[k] = heap[(k - 1) / 2];
        heap[(k - 1) / 2] = c;
        k = (k - 1) / 2;
    }
}

static void sift_down(cell *heap, int64_t count, int64_t k) {
    for (;;) {
        int64_t best = 2 * k + 1;
        if (best >= count) return;
        if (best + 1 < count && heap[best + 1].bound > heap[best].bound) best++;
        if (heap[best].bound <= heap[k].bound) return;
        const cell c = heap[k];
        heap[k] = heap[best];
        heap[best] = c;
        k = best;
    }
}

/* a.l of a vector. */
static double along(const program *p, const double *lifts) {
    double sum = 0.0;
    for (int64_t i = 0; i < p->n; i++) sum += p->a[i] * lifts[i];
    return sum;
}

/* A relaxed vector: what it has paid, its lifts and their squares, 3 n numbers; v of the cell that it was found with, a.l
   less v, and its terms other than the square of a.l. */
typedef struct {
    double *numbers, v, off, terms;
} found;

/* Move v of a cell to where its bound is about least: between one where a.l of what is chosen is larger and one where it is
   smaller. The mixture of these two with a.l = v goes to `room` after the first n numbers; its value is returned, -inf if
   there is none. `room` has 10 n numbers. */
static double centre(const program *p, cell *c, double enough, double slack, double *room) {
    const int64_t n = p->n, size = 3 * n;
    found low = {room + 4 * n, 0.0, 0.0, 0.0}, high = {room + 7 * n, 0.0, 0.0, 0.0};
    bool below = false, above = false;
    cell best = *c;
    for (int k = 0; c->bound > enough; k++) {
        const double value = middle_of(p, c, -1e290, room, room + 2 * n, room + 3 * n);
        if (!isfinite(value)) break;
        const double sum = along(p, room + 2 * n), off = sum - c->v;
        found *side_ = off >= 0 ? &low : &high;
        memcpy(side_->numbers, room + n, (size_t)size * sizeof(double));
        side_->v = c->v, side_->off = off, side_->terms = value - c->v * (c->v - 2 * sum);
        below = below || off >= 0, above = above || off < 0;
        const double width = below && above ? high.v - low.v : INFINITY;
        if (k == CENTRED || off * off <= OFF * slack || 2 * width * fabs(off) <= OFF * slack) break;
        c->v = width < INFINITY ? low.v + width * (k & 1 ? 0.5 : low.off / (low.off - high.off)) : c->v + off;
        double thetas[2];
        side l, h;
        c->bound = settle(p, c, enough, thetas, &l, &h);
        if (c->bound < best.bound) best = *c;
    }
    *c = best;
    if (!below && !above) return -INFINITY;
    const double sum_low = low.v + low.off, sum_high = high.v + high.off;
    double weight = below ? 1.0 : 0.0;
    /* Of the terms less the square of a.l, which is concave along the segment from one to the other. */
    if (below && above && sum_low != sum_high) {
        const double slope = low.terms - high.terms, width = sum_low - sum_high;
        weight = smaller(larger((slope / (2 * width) - sum_high) / width, 0.0), 1.0);
    }
    for (int64_t i = 0; i < size; i++)
        room[n + i] = (weight > 0 ? weight * low.numbers[i] : 0.0) + (weight < 1 ? (1 - weight) * high.numbers[i] : 0.0);
    const double sum = along(p, room + 2 * n);
    return (weight > 0 ? weight * low.terms : 0.0) + (weight < 1 ? (1 - weight) * high.terms : 0.0) - sum * sum;
}

/* Whether splitting a cell would change nothing but rounding. */
static bool is_point(const cell *c) { return c->t1 - c->t0 <= SMALLEST * c->t1 && c->b1 - c->b0 <= SMALLEST; }

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Cells (branch, t0, t1, b0, b1, rho, theta, bound, mode, v) that cover all levels up to `top` for every branch, at most `most`.

   Cells are split until the largest bound is at most `target`, or within `slack` of a relaxed vector's value, of
   which the `kept` best are written to `lifts` and `squares` with their values in `values`; or until so many `seconds`
   have passed. Returns the number of cells. */
EXPORT int64_t extremal_bound_levels(int64_t n, const double *pi, const double *d, const double *y,
                                     const double *low, const double *high, const double *a, double all_low,
                                     double all_high, int64_t branches, const double *kA, const double *kB, const double *vA,
                                     const double *vB, const double *all, double need,
                                     double top, double target, double slack, double scale, int64_t most,
                                     double *cells, int64_t kept, double *values, double *lifts, double *squares,
                                     double *levels, double *paid, double seconds) {
    const program p = {n, pi, d, y, low, high, a, kA, kB, vA, vB, all, all_low, all_high, need, scale};
    cell *heap = malloc((size_t)(most + 1) * sizeof(cell));
    double *room = malloc((size_t)(10 * n) * sizeof(double));
    if (heap == NULL || room == NULL) {
        free(heap);
        free(room);
        return OUT_OF_MEMORY;
    }
    int64_t count = 0, stored = 0;
    double best = -INFINITY;
    const double begin = now();
    cell waiting[2];
    int pending = 0;
    int64_t branch = 0;
    for (;;) {
        cell c;
        if (pending > 0)
            c = waiting[--pending];
        else if (branch < branches) {
            cell root = {1.0, top, 0.0, 1.0, 0.0, 0.0, INFINITY, 0.0, branch, 0};
            for (int64_t i = 0; i < n; i++) root.v += a[i];
            branch++;
            c = root;
        } else if (count + 1 > most || now() - begin > seconds || heap[0].bound <= target ||
                   heap[0].bound - best <= slack || is_point(heap))
            break;
        else { /* split the cell of the largest bound */
            c = heap[0];
            heap[0] = heap[--count];
            sift_down(heap, count, 0);
            cell other = c;
            if (c.t1 - c.t0 >= (c.b1 - c.b0) * c.t1)
                c.t1 = other.t0 = (c.t0 + c.t1) / 2;
            else
                c.b1 = other.b0 = (c.b0 + c.b1) / 2;
            waiting[pending++] = other;
        }
        const double enough = larger(target, best);
        const cell before = c;
        double thetas[2], where[2];
        side l, h;
        c.bound = isfinite(c.bound) ? corners(&p, &c, c.rho, c.theta, where).value : INFINITY;
        for (int64_t mode = 0; mode <= (all[c.branch] > 0 ? 0 : PAID_ABOVE) && c.bound > enough; mode++) {
            cell other = before;
            other.mode = mode;
            other.bound = settle(&p, &other, enough, thetas, &l, &h);
            if (other.bound < c.bound) c = other;
        }
        const double value = centre(&p, &c, enough, slack, room);
        heap[count++] = c;
        sift_up(heap, count - 1);
        best = larger(best, value);
        if (!isfinite(value)) continue;
        int64_t place = stored < kept ? stored++ : 0;
        if (place == 0 && stored == kept)
            for (int64_t k = 1; k < kept; k++)
                if (values[k] < values[place]) place = k;
        if (values[place] < value) {
            values[place] = value;
            levels[2 * place] = p.all[c.branch] > 0 || c.mode ? (c.b0 + c.b1) * (c.t0 + c.t1) / 4 : 0.0;
            levels[2 * place + 1] = (c.t0 + c.t1) / 2;
            memcpy(paid + place * n, room + n, (size_t)n * sizeof(double));
            memcpy(lifts + place * n, room + 2 * n, (size_t)n * sizeof(double));
            memcpy(squares + place * n, room + 3 * n, (size_t)n * sizeof(double));
        }
    }
    for (int64_t k = 0; k < count; k++) {
        const cell *c = heap + k;
        const double row[10] = {(double)c->branch, c->t0, c->t1,    c->b0,           c->b1,
                                c->rho,            c->theta, c->bound, (double)c->mode, c->v};
        memcpy(cells + 10 * k, row, sizeof(row));
    }
    free(heap);
    free(room);
    return count;
}
