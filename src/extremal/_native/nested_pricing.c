/* Pricing over a set of priors: lift vectors l of large reduced value sum_i pi_i f(l_i) - y.l, and a bound on all.

   An extremal lift vector is t on a set S, b = r t on a set R and 0 elsewhere, has mean 1, and
   r h(S and R) + (1 - r) h(S) = 1 / c (see `cone`).

   A branch fixes which of the three is meant: h(S and R) is kA + vA(S and R), h(S) is kB + vB(S). For any rho and
   theta no vector of the branch exceeds

       F = rho + theta (r kA + (1 - r) kB - 1 / c) + sum_i max(g_i(0), g_i(b), g_i(t)),

   g_i the terms of symbol i. Each g_i is convex in t for fixed r and in r for fixed t, so over a cell of t and r F is
   largest in a corner. theta may be negative, as extremal vectors use up what the set allows, single symbols apart. Cells
   are split, and where their size is not what makes the bound large, single symbols are fixed to one of the three levels.
   A level that lowers F below the threshold in every corner is given up, and where few ways are left all are listed. */

#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-14
#define SLACK 1e-13 /* by which constraints may be broken, see `lost` */
#define NOTHING 1e-12 /* what rounding may add to a sum of probabilities */
#define STEP 4 /* symbols that could be looked at instead of a step on the way to a column that is listed */
#define WAYS 20000 /* to choose levels in a cell, up to which its columns are listed */
#define DUG 2000 /* if that takes so many steps at most */
#define WORTH 8 /* symbols that could be looked at instead of a column */
#define STEPS 40
#define TINY 1e-9 /* cells */
#define NEAR 3
#define FAR 24 /* steps, each four times the last, to where a multiplier may be */

enum { NONE = 0, MIDDLE = 1, TOP = 2 };
#define MAY(level) (1u << (level))
#define MAY_ALL 7u

typedef struct {
    double pi, center, lower, upper, y;
} sums;

/* A pair of functions that h(S and R) and h(S) are. Where it is one function, one symbol at most is in R. The first is the
   largest of all at S and R only if `outside`, summed over the other symbols, is small, the second at S only if `in_S` is. */
enum { DIFFERENT = 0, WHOLE = 1, SAME = 2 }; /* WHOLE: every symbol is in S or R */
typedef struct {
    const double *vA, *vB, *in_S, *outside;
    double kA, kB, most_in_S, most_outside, t0, t1, r0, r1;
    int kind;
    double most_h_S, most_h_outside;
} branch;

typedef struct {
    int64_t n;
    const double *pi, *center, *lower, *upper, *y;
    double moved, need, all_upper, scale; /* need = 1 / c */
    problem f;
    const branch *branches;
    int64_t *before; /* the last symbol before each that is its equal in everything, -1 for none */
    int64_t spent, most; /* symbols that were looked at, and may be */
} program;

/* The columns of largest value found so far, as levels. */
typedef struct {
    int64_t n, kept, count;
    double threshold, best;
    double *values;
    int8_t *levels;
} finds;

static double least(const program *p, const sums *a) {
    return larger(larger(a->center - p->moved, a->lower), 1.0 - (p->all_upper - a->upper));
}

static sums with(const program *p, const sums *a, int64_t i, double by) {
    const sums b = {a->pi + by * p->pi[i], a->center + by * p->center[i], a->lower + by * p->lower[i],
                    a->upper + by * p->upper[i], a->y + by * p->y[i]};
    return b;
}

/* The reduced value of the lift vector of S and R, -inf if there is none or S is empty: R alone is one, too. */
static double worth(program *p, const sums *S, const sums *R) {
    const double inner = least(p, S);
    double r = 0.0;
    p->spent += WORTH;
    if (!(S->pi > 0.0)) return -INFINITY;
    if (inner < p->need * (1.0 - ROUNDING)) {
        const sums both = {S->pi + R->pi, S->center + R->center, S->lower + R->lower, S->upper + R->upper, 0.0};
        const double outer = least(p, &both);
        if (outer <= p->need * (1.0 + ROUNDING)) return -INFINITY; /* where it is equal, S and R are one set */
        r = smaller((p->need - inner) / (outer - inner), 1.0);
    }
    const double mass = S->pi + r * R->pi;
    if (!(mass > 1e-300)) return -INFINITY;
    const double t = smaller(1.0 / mass, p->f.high);
    double value = S->pi * f_above(&p->f, t) - t * (S->y + r * R->y);
    double left = 1.0 - S->pi;
    if (r > 0.0) {
        value += R->pi * f_above(&p->f, r * t);
        left -= R->pi;
    }
    return value + larger(left, 0.0) * p->f.table[0];
}

static void add_up(const program *p, const int8_t *level, sums *S, sums *R) {
    memset(S, 0, sizeof(sums));
    memset(R, 0, sizeof(sums));
    for (int64_t i = 0; i < p->n; i++) {
        if (level[i] == TOP) *S = with(p, S, i, 1.0);
        if (level[i] == MIDDLE) *R = with(p, R, i, 1.0);
    }
}

/* Keep a column if it is among the best and not known. */
static void keep(finds *f, const int8_t *level, double value) {
    f->best = larger(f->best, value);
    if (!(value > f->threshold)) return;
    int64_t place = f->count < f->kept ? f->count : 0;
    for (int64_t k = 0; k < f->count; k++) {
        if (f->values[k] == value && !memcmp(f->levels + k * f->n, level, (size_t)f->n)) return;
        if (f->count == f->kept && f->values[k] < f->values[place]) place = k;
    }
    if (f->count < f->kept)
        f->count++;
    else if (f->values[place] >= value)
        return;
    f->values[place] = value;
    memcpy(f->levels + place * f->n, level, (size_t)f->n);
}

static void move(const program *p, sums *S, sums *R, int8_t from, int8_t to, int64_t i) {
    if (from == TOP || to == TOP) *S = with(p, S, i, to == TOP ? 1.0 : -1.0);
    if (from == MIDDLE || to == MIDDLE) *R = with(p, R, i, to == MIDDLE ? 1.0 : -1.0);
}

/* Move single symbols to another level, and exchange the levels of two, as long as the value rises. */
static double rise(program *p, int8_t *level, int64_t first, int64_t sweeps) {
    const int64_t n = p->n;
    sums S, R;
    add_up(p, level, &S, &R);
    double now = worth(p, &S, &R);
    if (!(now > -INFINITY)) { /* no such vector: everything else in the middle is one */
        for (int64_t i = 0; i < n; i++)
            if (level[i] != TOP) level[i] = MIDDLE;
        add_up(p, level, &S, &R);
        now = worth(p, &S, &R);
    }
    bool swaps = false;
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        bool moved = false;
        for (int64_t turn = 0; turn < n; turn++) {
            const int64_t i = (turn + first) % n;
            double best = now + 1e-12 * p->scale;
            int8_t to = -1;
            int64_t who = -1;
            for (int8_t l = NONE; l <= TOP; l++) {
                if (l == level[i]) continue;
                sums s = S, r = R;
                move(p, &s, &r, level[i], l, i);
                const double value = worth(p, &s, &r);
                if (value > best) best = value, to = l, who = -1;
            }
            for (int64_t j = 0; swaps && j < n; j++) {
                if (level[j] == level[i]) continue;
                sums s = S, r = R;
                move(p, &s, &r, level[i], level[j], i);
                move(p, &s, &r, level[j], level[i], j);
                const double value = worth(p, &s, &r);
                if (value > best) best = value, to = level[j], who = j;
            }
            if (to < 0) continue;
            moved = true;
            if (who >= 0) {
                move(p, &S, &R, level[who], level[i], who);
                const int8_t own = level[i];
                move(p, &S, &R, own, to, i);
                level[who] = own;
            } else
                move(p, &S, &R, level[i], to, i);
            level[i] = to;
            now = best;
        }
        if (moved) continue;
        if (swaps) break;
        swaps = true;
    }
    add_up(p, level, &S, &R); /* without what rounding added up to */
    return worth(p, &S, &R);
}

typedef struct {
    double t0, t1, r0, r1, rho, theta, bound;
    double sides[4][2]; /* rho and theta on all sides of the least F */
    int64_t branch, place, own; /* place: where its levels lie; own: the symbol that alone is in R, -1 for any */
} node;

/* Whether one symbol is in R and it is not said which: each that may be has MIDDLE among its levels. */
static bool is_open(const program *p, const node *c) { return p->branches[c->branch].kind == SAME && c->own < 0; }

/* F with its slopes by rho and theta. */
typedef struct {
    double value, by_rho, by_theta;
} reached;

/* What rounding may take from F: large multipliers would make a bound of a constraint that only rounding breaks. */
static reached lost(const program *p, const branch *pair, double rho, double theta) {
    const double slack = SLACK + 2e-15 * (double)p->n, both = slack * (1.0 + fabs(pair->kA) + fabs(pair->kB));
    const reached x = {slack * fabs(rho) + both * fabs(theta), copysign(slack, rho), copysign(both, theta)};
    return x;
}

/* F at the levels t and b = r t. `chosen`, if given, gets the level of each symbol, `margin` what it gains over another.
   Where it is open which symbol is in R, F is the largest of all that may be: the others have the levels 0 or t. */
static reached at(program *p, const node *c, const uint8_t *may, double t, double r, double rho, double theta,
                  int8_t *chosen, double *margin) {
    const int64_t n = p->n;
    const branch *pair = p->branches + c->branch;
    const double *vA = pair->vA, *vB = pair->vB;
    const double b = r * t, zero = p->f.table[0];
    const double fixed = r * pair->kA + (1.0 - r) * pair->kB - p->need;
    const double per_S = f_above(&p->f, t) - rho * t, per_R = f_above(&p->f, b) - rho * b;
    const double outer = theta * r, inner = theta * (1.0 - r);
    const bool open = is_open(p, c);
    const uint8_t free = open ? MAY(NONE) | MAY(TOP) : MAY_ALL;
    double total = 0.0, mass = 0.0, A = 0.0, B = 0.0, gain = -INFINITY;
    int64_t own = -1;
    int8_t instead = NONE; /* the level that it would have if it were not the one in R */
    p->spent += n;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t m = may[i] & free;
        double best = m & MAY(NONE) ? p->pi[i] * zero : -INFINITY;
        int8_t level = NONE;
        const double value_R = p->pi[i] * per_R - b * p->y[i] + outer * vA[i];
        const double value_S = p->pi[i] * per_S - t * p->y[i] + outer * vA[i] + inner * vB[i];
        if (m & MAY(MIDDLE) && value_R > best) best = value_R, level = MIDDLE;
        if (m & MAY(TOP) && value_S > best) best = value_S, level = TOP;
        if (open && may[i] & MAY(MIDDLE) && value_R - best > gain) gain = value_R - best, own = i, instead = level;
        if (margin) {
            margin[i] = INFINITY;
            if (m & MAY(NONE) && level != NONE) margin[i] = best - p->pi[i] * zero;
            if (m & MAY(MIDDLE) && level != MIDDLE) margin[i] = smaller(margin[i], best - value_R);
            if (m & MAY(TOP) && level != TOP) margin[i] = smaller(margin[i], best - value_S);
        }
        total += best;
        mass += p->pi[i] * (level == TOP ? t : level == MIDDLE ? b : 0.0);
        A += level != NONE ? vA[i] : 0.0;
        B += level == TOP ? vB[i] : 0.0;
        if (chosen) chosen[i] = level;
    }
    if (open) total += gain;
    if (own >= 0) {
        mass += p->pi[own] * (b - (instead == TOP ? t : 0.0));
        A += instead == TOP ? 0.0 : vA[own];
        B -= instead == TOP ? vB[own] : 0.0;
        if (chosen) chosen[own] = MIDDLE;
    }
    const reached more = lost(p, pair, rho, theta);
    const reached x = {rho + theta * fixed + total + more.value, 1.0 - mass + more.by_rho,
                       fixed + r * A + (1.0 - r) * B + more.by_theta};
    return x;
}

/* The largest F in the corners of a cell, with its slopes. */
static reached corners(program *p, const node *c, const uint8_t *may, double rho, double theta) {
    reached most = {-INFINITY, 0.0, 0.0};
    for (int k = 0; k < 4; k++) {
        if ((k & 1 && c->t0 == c->t1) || (k & 2 && c->r0 == c->r1)) continue;
        const reached x = at(p, c, may, k & 1 ? c->t1 : c->t0, k & 2 ? c->r1 : c->r0, rho, theta, NULL, NULL);
        if (x.value > most.value) most = x;
    }
    return most;
}

/* A convex function of one multiplier between two points: where it falls and where it rises. */
typedef struct {
    double x, value, slope, low; /* low: of a tangent that lies nowhere above the function */
    double rho[2], share; /* of a function of theta: the two sides of the least F by rho, the weight of the second */
} point;

/* Where the tangents of two points meet, or the middle; `lowest` gets the value there. */
static double between(const point *l, const point *h, int k, double *lowest) {
    const double slopes = h->slope - l->slope;
    double x = slopes > 0.0 ? (l->low - h->low + h->slope * h->x - l->slope * l->x) / slopes : l->x;
    if (!(x > l->x && x < h->x)) x = (l->x + h->x) / 2;
    *lowest = larger(l->low + l->slope * (x - l->x), h->low + h->slope * (x - h->x));
    return k % 4 == 3 ? (l->x + h->x) / 2 : x;
}

/* The least F by rho, to within a part of what it is above `enough`, or any F that is not above. */
static point least_rho(program *p, const node *c, const uint8_t *may, double start, double theta, double enough,
                       double precision, int far) {
    reached x = corners(p, c, may, start, theta);
    point l = {start, x.value, x.by_rho, x.value, {0.0, 0.0}, 0.0}, h = l;
    double by_l = x.by_theta, by_h = x.by_theta, step = 1e-2 * p->scale, lowest;
    for (int k = 0; h.slope < 0.0 && h.value > enough && k < far; k++, step *= 4) {
        l = h, by_l = by_h;
        h.x += step;
        x = corners(p, c, may, h.x, theta);
        h.value = h.low = x.value, h.slope = x.by_rho, by_h = x.by_theta;
    }
    for (int k = 0; l.slope > 0.0 && l.value > enough && k < far; k++, step *= 4) {
        h = l, by_h = by_l;
        l.x -= step;
        x = corners(p, c, may, l.x, theta);
        l.value = l.low = x.value, l.slope = x.by_rho, by_l = x.by_theta;
    }
    for (int k = 0; k < STEPS && l.slope < 0.0 && h.slope > 0.0; k++) {
        const double best = smaller(l.value, h.value), middle = between(&l, &h, k, &lowest);
        if (best <= enough || best - lowest <= precision * (best - enough)) break;
        x = corners(p, c, may, middle, theta);
        point *side = x.by_rho < 0.0 ? &l : &h;
        side->x = middle, side->value = side->low = x.value, side->slope = x.by_rho;
        *(x.by_rho < 0.0 ? &by_l : &by_h) = x.by_theta;
    }
    const double slopes = h.slope - l.slope;
    const double share = slopes > 0.0 ? smaller(larger(-l.slope / slopes, 0.0), 1.0) : h.value <= l.value ? 1.0 : 0.0;
    const double meet = share * (h.value - h.slope * h.x) + (1.0 - share) * (l.value - l.slope * l.x);
    point best = {theta, smaller(l.value, h.value), share * by_h + (1.0 - share) * by_l, smaller(meet, smaller(l.value, h.value)), {l.x, h.x}, share};
    if (l.value < h.value) { /* the better side first */
        best.rho[0] = h.x, best.rho[1] = l.x;
        best.share = 1.0 - share;
    }
    return best; /* rho[1] attains the value */
}

/* Multipliers of about the least F in the corners of a cell, and that F. */
static double settle(program *p, node *c, const uint8_t *may, double enough, double precision, int far) {
    point l = least_rho(p, c, may, c->rho, c->theta, enough, 0.1 * precision, far), h = l;
    double lowest;
    double step = larger(fabs(c->theta) / 4, 1e-2 * p->scale);
    for (int k = 0; l.slope > 0.0 && l.value > enough && k < far; k++, step *= 4) {
        h = l;
        l = least_rho(p, c, may, h.rho[1], h.x - step, enough, 0.1 * precision, far);
    }
    for (int k = 0; h.slope < 0.0 && h.value > enough && k < far; k++, step *= 4) {
        l = h;
        h = least_rho(p, c, may, l.rho[1], l.x + step, enough, 0.1 * precision, far);
    }
    for (int k = 0; k < STEPS && l.slope < 0.0 && h.slope > 0.0; k++) {
        const double best = smaller(l.value, h.value), middle = between(&l, &h, k, &lowest);
        if (best <= enough || best - lowest <= precision * (best - enough)) break;
        const point x = least_rho(p, c, may, l.value < h.value ? l.rho[1] : h.rho[1], middle, enough, 0.1 * precision, far);
        *(x.slope < 0.0 ? &l : &h) = x;
    }
    const point *best = l.value < h.value ? &l : &h;
    c->rho = best->rho[1];
    c->theta = best->x;
    for (int k = 0; k < 4; k++) {
        const point *x = k < 2 ? &h : &l;
        c->sides[k][0] = x->rho[k % 2], c->sides[k][1] = x->x;
    }
    return best->value;
}

static double middle_of(double low, double high) { return high > 2 * low && low > 0 ? sqrt(low * high) : (low + high) / 2; }

/* Levels at the corner of a cell where F is largest. */
static void worst_corner(program *p, const node *c, const uint8_t *may, double rho, double theta, int8_t *chosen) {
    double most = -INFINITY;
    int worst = 0;
    for (int k = 0; k < 4; k++) {
        if ((k & 1 && c->t0 == c->t1) || (k & 2 && c->r0 == c->r1)) continue;
        const reached x = at(p, c, may, k & 1 ? c->t1 : c->t0, k & 2 ? c->r1 : c->r0, rho, theta, NULL, NULL);
        if (x.value > most) most = x.value, worst = k;
    }
    at(p, c, may, worst & 1 ? c->t1 : c->t0, worst & 2 ? c->r1 : c->r0, rho, theta, chosen, NULL);
}

/* About the largest value of relaxed vectors in the middle of a cell, or near it: multipliers are limited, as few cells have a
   vector exactly there. What is mixed is tried as columns. The heaviest symbol that has different levels is written to
   `mixed`; where there is none, -1 or, in the smallest cells, the one that is nearest to having. */
static double inside(program *p, finds *found, const node *whole, const uint8_t *may, double enough, int8_t *room,
                     double *margin, int64_t *mixed, uint8_t *split) {
    node c = *whole;
    const double t = c.t0 = c.t1 = middle_of(whole->t0, whole->t1), r = c.r0 = c.r1 = (whole->r0 + whole->r1) / 2;
    const double value = settle(p, &c, may, enough, 0.01, NEAR);
    at(p, &c, may, t, r, c.rho, c.theta, NULL, margin);
    double best = -INFINITY;
    int64_t which = 0;
    for (int k = 0; k < 4; k++) {
        sums S, R;
        at(p, &c, may, t, r, c.sides[k][0], c.sides[k][1], room + k * p->n, NULL);
        add_up(p, room + k * p->n, &S, &R);
        const double tried = worth(p, &S, &R);
        keep(found, room + k * p->n, tried);
        if (tried > best) best = tried, which = k;
    }
    if (best > -INFINITY && best > found->best - 0.2 * fabs(value - best)) {
        int8_t *level = room + which * p->n;
        const double reached = rise(p, level, 0, 4);
        keep(found, level, reached);
    }
    for (int k = 0; k < 4; k++) worst_corner(p, whole, may, whole->sides[k][0], whole->sides[k][1], room + k * p->n);
    *mixed = -1;
    double widest = 0.0;
    for (int64_t i = 0; i < p->n; i++) {
        int8_t low = room[i], high = room[i];
        for (int k = 1; k < 4; k++) {
            const int8_t l = room[k * p->n + i];
            low = l < low ? l : low, high = l > high ? l : high;
        }
        const double by = p->pi[i] * ((high == TOP ? 1.0 : high == MIDDLE ? r : 0.0) - (low == TOP ? 1.0 : low == MIDDLE ? r : 0.0));
        if (low < high && by >= widest) widest = by, *mixed = i, *split = high == TOP && (low == MIDDLE || r < 0.5) ? MAY(TOP) : MAY(NONE);
    }
    if (*mixed < 0 && whole->t1 - whole->t0 < TINY && whole->r1 - whole->r0 < TINY) {
        *mixed = 0;
        for (int64_t i = 1; i < p->n; i++)
            if (margin[i] <= margin[*mixed]) *mixed = i;
        *split = may[*mixed] & MAY(TOP) ? MAY(TOP) : MAY(NONE);
    }
    return value;
}

/* Levels that a symbol can have in a cell: the mean is 1. */
static uint8_t possible(const program *p, const node *c, double pi, bool own) {
    const int kind = p->branches[c->branch].kind;
    const double rest = kind == WHOLE ? c->r0 * c->t0 : 0.0;
    uint8_t may = kind == WHOLE ? MAY(MIDDLE) | MAY(TOP) : kind == SAME && c->own >= 0 ? MAY(NONE) | MAY(TOP) : MAY_ALL;
    if (own) may = MAY(MIDDLE);
    if (pi * c->t0 + (1.0 - pi) * rest > 1.0 + 1e-12) may &= (uint8_t)~MAY(TOP);
    if (pi * c->t0 * c->r0 > 1.0 + 1e-12) may &= (uint8_t)~MAY(MIDDLE);
    return may;
}

/* What is in S and outside: as the branch counts it, and of h, which S alone must not have enough of, S and R must. */
typedef struct {
    double in_S, outside, h_S, h_outside;
} load;

static void put(const branch *b, load *x, int8_t level, int64_t i) {
    if (level == TOP) x->in_S += b->in_S[i], x->h_S += b->vB[i];
    if (level == NONE) x->outside += b->outside[i], x->h_outside += b->vA[i];
}

static bool too_much(const branch *b, const load *x) {
    return x->in_S > b->most_in_S || x->outside > b->most_outside || x->h_S > b->most_h_S || x->h_outside > b->most_h_outside;
}

/* Take away levels with which too much would be in S, or outside. Whether any vector is left. */
static bool confine(const program *p, const node *c, uint8_t *may) {
    const branch *b = p->branches + c->branch;
    load fixed = {0};
    for (int64_t i = 0; i < p->n; i++)
        if (may[i] == MAY(TOP) || may[i] == MAY(NONE)) put(b, &fixed, may[i] == MAY(TOP) ? TOP : NONE, i);
    bool any = !too_much(b, &fixed);
    for (int64_t i = 0; i < p->n && any; i++)
        for (int8_t l = NONE; l <= TOP; l += TOP) {
            if (may[i] == MAY(l) || !(may[i] & MAY(l))) continue;
            load more = fixed;
            put(b, &more, l, i);
            if (too_much(b, &more)) may[i] &= (uint8_t)~MAY(l);
            any = may[i];
        }
    return any;
}

static bool equal(const program *p, int64_t i, int64_t j) {
    return p->pi[i] == p->pi[j] && p->y[i] == p->y[j] && p->center[i] == p->center[j] && p->lower[i] == p->lower[j] &&
           p->upper[i] == p->upper[j];
}

static void find_equals(program *p) {
    for (int64_t i = 0; i < p->n; i++) {
        p->before[i] = i - 1;
        while (p->before[i] >= 0 && !equal(p, i, p->before[i])) p->before[i]--;
    }
}

/* Of equal symbols the first have the highest levels. Whether any vector is left. */
static bool arrange(const program *p, uint8_t *may) {
    bool any = true;
    for (int64_t i = 0; i < p->n; i++) /* nothing above the highest level of the one before */
        if (p->before[i] >= 0) may[i] &= may[p->before[i]] & MAY(TOP) ? MAY_ALL : may[p->before[i]] & MAY(MIDDLE) ? 3u : 1u;
    for (int64_t i = p->n - 1; i >= 0; i--) { /* nothing below the lowest level of the one after */
        any = any && may[i];
        if (p->before[i] >= 0) may[p->before[i]] &= may[i] & MAY(NONE) ? MAY_ALL : may[i] & MAY(MIDDLE) ? 6u : 4u;
    }
    return any;
}

/* The middle one of the equal symbols that may have the same levels, of which this is the last. */
static int64_t middle_one(const program *p, const uint8_t *may, int64_t last) {
    int64_t count = 0;
    for (int64_t i = last; i >= 0 && may[i] == may[last]; i = p->before[i]) count++;
    for (count /= 2; count > 0; count--) last = p->before[last];
    return last;
}

typedef struct {
    queued *heap;
    node *nodes; /* by place */
    uint8_t *may; /* n for each place */
    int64_t count, *unused, unused_count;
} queue;

/* What levels of symbols lose of F in each corner of a cell, at the multipliers of the cell, and F above the threshold. */
typedef struct {
    double above[4], *loss; /* loss: 3 levels of 4 corners for each symbol */
    int64_t *order, *spare;
    double *key;
    int8_t *level;
} losses;

#define LOSS(x, i, l, k) ((x)->loss[((i) * 3 + (l)) * 4 + (k)])

/* The losses; levels that lose too much in every corner are not allowed any more. Whether any vector is left. */
static bool thin(program *p, const node *c, uint8_t *may, double threshold, losses *x) {
    const int64_t n = p->n;
    const branch *pair = p->branches + c->branch;
    const double *vA = pair->vA, *vB = pair->vB, zero = p->f.table[0];
    const bool open = is_open(p, c);
    for (int k = 0; k < 4; k++) {
        x->above[k] = -INFINITY;
        for (int64_t j = 0; j < 3 * n; j++) x->loss[4 * j + k] = 0.0;
        if ((k & 1 && c->t0 == c->t1) || (k & 2 && c->r0 == c->r1)) continue;
        const double t = k & 1 ? c->t1 : c->t0, r = k & 2 ? c->r1 : c->r0, b = r * t;
        const double per_S = f_above(&p->f, t) - c->rho * t, per_R = f_above(&p->f, b) - c->rho * b;
        const double outer = c->theta * r, inner = c->theta * (1.0 - r);
        double total = c->rho + c->theta * (r * pair->kA + (1.0 - r) * pair->kB - p->need);
        double gain = -INFINITY;
        p->spent += 2 * n;
        for (int64_t i = 0; i < n; i++) {
            const double value[3] = {p->pi[i] * zero, p->pi[i] * per_R - b * p->y[i] + outer * vA[i],
                                     p->pi[i] * per_S - t * p->y[i] + outer * vA[i] + inner * vB[i]};
            double best = -INFINITY;
            for (int l = NONE; l <= TOP; l++)
                if (may[i] & MAY(l) && !(open && l == MIDDLE)) best = larger(best, value[l]);
            for (int l = NONE; l <= TOP; l++) LOSS(x, i, l, k) = best - value[l];
            if (may[i] & MAY(MIDDLE)) gain = larger(gain, value[MIDDLE] - best);
            total += best;
        }
        for (int64_t i = 0; i < n && open; i++) LOSS(x, i, MIDDLE, k) += gain; /* one symbol has this level */
        x->above[k] = total + (open ? gain : 0.0) + lost(p, pair, c->rho, c->theta).value - threshold;
    }
    bool any = true;
    for (int64_t i = 0; i < n; i++) {
        double first = -INFINITY, second = -INFINITY; /* what the best levels leave above the threshold */
        for (int l = NONE; l <= TOP; l++) {
            double rest = -INFINITY;
            for (int k = 0; k < 4; k++) rest = larger(rest, x->above[k] - LOSS(x, i, l, k));
            if (!(rest > 0.0)) may[i] &= (uint8_t)~MAY(l);
            if (!(may[i] & MAY(l))) continue;
            second = larger(second, smaller(first, rest));
            first = larger(first, rest);
        }
        x->key[i] = -second;
        any = any && may[i];
    }
    return any;
}

/* What is fixed on the way down: the sets, F above the threshold, and what is in S and outside. */
typedef struct {
    sums S, R;
    double above[4];
    load load;
} descent;

/* All levels of the symbols from `depth` in order, given those of the others, but for those below the threshold in every
   corner. False if that takes more steps than are left; else `most` gets the largest value. */
static bool dig(program *p, finds *found, const branch *pair, const losses *x, const uint8_t *may, int64_t depth,
                const descent *now, int64_t *left, double *most) {
    if (--*left < 0) return false;
    p->spent += STEP;
    if (depth == p->n) {
        double value = worth(p, &now->S, &now->R);
        keep(found, x->level, value);
        int8_t *own = pair->kind == SAME ? memchr(x->level, MIDDLE, (size_t)p->n) : NULL;
        if (own) { /* the symbol of its own may have the level of the others */
            const sums none = {0}, both = with(p, &now->S, own - x->level, 1.0);
            const double together = worth(p, &both, &none);
            if (together > found->threshold) {
                *own = TOP;
                keep(found, x->level, together);
                *own = MIDDLE;
            }
            value = larger(value, together);
        }
        *most = larger(*most, value);
        return true;
    }
    const int64_t i = x->order[depth];
    for (int8_t l = NONE; l <= TOP; l++) {
        if (!(may[i] & MAY(l)) || (l == MIDDLE && pair->kind == SAME && now->R.pi > 0.0)) continue;
        descent next = *now;
        bool keeps = false;
        for (int k = 0; k < 4; k++) {
            next.above[k] -= LOSS(x, i, l, k);
            keeps = keeps || next.above[k] > 0.0;
        }
        put(pair, &next.load, l, i);
        if (!keeps || too_much(pair, &next.load)) continue;
        move(p, &next.S, &next.R, NONE, l, i);
        x->level[i] = l;
        if (!dig(p, found, pair, x, may, depth + 1, &next, left, most)) return false;
    }
    return true;
}

/* Where one symbol is in R: make it the one that has no other level. Whether there is one, or any may be. */
static bool appoint(const program *p, node *c, uint8_t *may) {
    if (!is_open(p, c)) return true;
    bool any = false;
    for (int64_t i = 0; i < p->n && c->own < 0; i++) {
        any = any || may[i] & MAY(MIDDLE);
        if (may[i] == MAY(MIDDLE)) c->own = i;
    }
    for (int64_t i = 0; i < p->n && c->own >= 0; i++) {
        if (i != c->own) may[i] &= (uint8_t)~MAY(MIDDLE);
        any = any && may[i];
    }
    return any;
}

/* Bound a new node and put it into the queue unless nothing in it is above the threshold. `proven` gets the bound of
   what is listed instead. */
static void consider(program *p, queue *q, finds *found, node *c, int64_t parent, int64_t symbol, uint8_t only,
                     losses *x, double *proven) {
    const int64_t n = p->n;
    c->place = q->unused[--q->unused_count];
    uint8_t *may = q->may + c->place * n;
    bool any = true;
    for (int64_t i = 0; i < n; i++) {
        may[i] = possible(p, c, p->pi[i], i == c->own);
        if (parent >= 0) may[i] &= q->may[parent * n + i];
        if (i == symbol) may[i] &= only;
        any = any && may[i];
    }
    any = any && arrange(p, may) && confine(p, c, may) && appoint(p, c, may);
    if (any) {
        c->bound = smaller(settle(p, c, may, found->threshold, 0.05, FAR), c->bound);
        any = c->bound > found->threshold && thin(p, c, may, found->threshold, x) && appoint(p, c, may);
    }
    if (any) {
        descent start = {0};
        double ways = 1.0; /* to choose levels */
        double owns = 1.0;
        const bool open = is_open(p, c);
        for (int64_t i = 0; i < n; i++) {
            const uint8_t m = open ? may[i] & (uint8_t)~MAY(MIDDLE) : may[i];
            ways *= !(m & (m - 1)) ? 1.0 : m == MAY_ALL ? 3.0 : 2.0;
            owns += open && may[i] & MAY(MIDDLE);
        }
        ways *= owns;
        int64_t left = ways <= WAYS ? DUG : 0;
        if (parent < 0 && ways * STEP <= (double)(p->most - p->spent)) left = (p->most - p->spent) / STEP;
        double most = -INFINITY;
        memcpy(start.above, x->above, sizeof start.above);
        descending(n, x->key, x->order, x->spare);
        if (!dig(p, found, p->branches + c->branch, x, may, 0, &start, &left, &most)) {
            q->nodes[c->place] = *c;
            push(q->heap, q->count++, (queued){c->bound, c->place});
            return;
        }
        *proven = larger(*proven, most);
    }
    q->unused[q->unused_count++] = c->place;
}

#define LINES 4
#define NUMBERS 9

/* What is searched for, and found. A branch has LINES vectors and NUMBERS numbers, in the order in which they are read. */
typedef struct {
    int64_t branches;
    const double *lines, *numbers;
    double scale, threshold, enough;
    int64_t most, places, kept;
    double *values;
    int8_t *levels; /* n a column */
    double bound;
    int64_t spent;
} nested_search;

static program program_of(const cone *k, const problem *f, double scale) {
    program p = {.n = k->n, .pi = k->pi, .center = k->center, .lower = k->lower, .upper = k->upper, .y = f->y,
                 .moved = k->moved, .need = 1.0 / k->c, .scale = scale, .f = *f};
    for (int64_t i = 0; i < k->n; i++) p.all_upper += k->upper[i];
    return p;
}

/* Columns of value above the threshold, at most `kept`, and a bound on all: the larger of that and the threshold.

   Ends when there are no others, when the best has `enough` of what the bound allows, when so many symbols were looked
   at (`most`), or when there is no place for more nodes. Returns the number of columns. */
EXPORT int64_t extremal_price_nested(const cone *k, const problem *f, nested_search *s) {
    const int64_t n = k->n;
    const double threshold = s->threshold;
    const size_t places = (size_t)s->places;
    program p = program_of(k, f, s->scale);
    p.most = s->most;
    finds found = {n, s->kept, 0, threshold, -INFINITY, s->values, s->levels};
    queue q = {malloc(places * sizeof(queued)), malloc(places * sizeof(node)), malloc(places * (size_t)n), 0,
               malloc(places * sizeof(int64_t)), 0};
    branch *pairs = malloc((size_t)s->branches * sizeof(branch));
    int8_t *room = malloc((size_t)(5 * n));
    double *margin = malloc((size_t)(14 * n) * sizeof(double));
    p.before = malloc((size_t)(3 * n) * sizeof(int64_t));
    int64_t result = OUT_OF_MEMORY;
    double proven = threshold;
    if (!q.heap || !q.nodes || !q.may || !q.unused || !pairs || !room || !margin || !p.before) goto end;
    losses x = {.loss = margin + n, .key = margin + 13 * n, .order = p.before + n, .spare = p.before + 2 * n,
                .level = room + 4 * n};
    for (int64_t k = s->places - 1; k >= 0; k--) q.unused[q.unused_count++] = k;
    for (int64_t k = 0; k < s->branches; k++) {
        const double *v = s->lines + k * LINES * n, *d = s->numbers + k * NUMBERS;
        const branch pair = {v, v + n, v + 2 * n, v + 3 * n, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], (int)d[8],
                             p.need - d[1] + NOTHING, d[0] - p.need + NOTHING};
        pairs[k] = pair;
        for (int64_t i = 0; i < n; i++) pairs[k].most_h_outside += v[i];
    }
    p.branches = pairs;
    find_equals(&p);
    for (int64_t i = 0; i < n; i++) { /* single symbols: they need not use up what the set allows */
        const sums none = {0}, S = with(&p, &none, i, 1.0);
        memset(x.level, NONE, (size_t)n);
        x.level[i] = TOP;
        const double value = worth(&p, &S, &none);
        keep(&found, x.level, value);
    }
    for (int64_t k = 0; k < s->branches; k++) {
        node root = {.t0 = pairs[k].t0, .t1 = pairs[k].t1, .r0 = pairs[k].r0, .r1 = pairs[k].r1,
                      .bound = INFINITY, .branch = k, .own = -1};
        if (!(root.t0 <= root.t1)) continue;
        consider(&p, &q, &found, &root, -1, -1, MAY_ALL, &x, &proven);
    }
    while (q.count && p.spent < p.most && q.unused_count >= 4) {
        const double largest = larger(q.heap[0].bound, proven);
        if (found.best - threshold >= s->enough * (largest - threshold)) break;
        node top = q.nodes[take_first(q.heap, &q.count)];
        int64_t mixed;
        uint8_t split = MAY(TOP);
        const uint8_t *allowed = q.may + top.place * n;
        const double value = inside(&p, &found, &top, allowed, larger(threshold, -1e290), room, margin, &mixed, &split);
        if (mixed >= 0) mixed = middle_one(&p, allowed, mixed);
        const double parent_t = top.t1 - top.t0, parent_r = top.r1 - top.r0;
        const bool wide = mixed < 0 || ((parent_t >= TINY || parent_r >= TINY) &&
                                        top.bound - value > 0.5 * (top.bound - larger(threshold, found.best)));
        if (wide) {
            node a = top, b = top;
            if (parent_t / top.t1 >= parent_r)
                a.t1 = b.t0 = middle_of(top.t0, top.t1);
            else
                a.r1 = b.r0 = (top.r0 + top.r1) / 2;
            consider(&p, &q, &found, &a, top.place, -1, MAY_ALL, &x, &proven);
            consider(&p, &q, &found, &b, top.place, -1, MAY_ALL, &x, &proven);
        } else
            for (int half = 0; half < 3; half++) {
                node a = top;
                uint8_t only = half ? (uint8_t)~split : split;
                if (is_open(&p, &top)) {
                    only = (uint8_t)MAY(half);
                    if (half == MIDDLE) a.own = mixed;
                } else if (half == 2)
                    break;
                if (allowed[mixed] & only) consider(&p, &q, &found, &a, top.place, mixed, only, &x, &proven);
            }
        q.unused[q.unused_count++] = top.place;
    }
    if (q.count) proven = larger(proven, q.heap[0].bound);
    proven = larger(proven, found.best);
    result = found.count;
end:
    s->bound = proven;
    s->spent = p.spent;
    free(q.heap);
    free(q.nodes);
    free(q.may);
    free(q.unused);
    free(pairs);
    free(room);
    free(margin);
    free(p.before);
    return result;
}

/* Levels of single columns made better by moving symbols, in place, and the values reached. Returns how many symbols were
   looked at. */
EXPORT int64_t extremal_rise_nested(const cone *k, const problem *f, int64_t rows, double scale, int64_t sweeps,
                                    int8_t *levels, double *values) {
    program p = program_of(k, f, scale);
    for (int64_t a = 0; a < rows; a++) values[a] = rise(&p, levels + a * p.n, a % p.n, sweeps);
    return p.spent;
}
