/* Whether a compiled library gives the answers that are known, on the processor and system that it was compiled for.
   tools/wheels.py compiles this against the library of each wheel and runs it where it can. It prints what the library
   computes: exact draws are compared here, and all lines with those of the other platforms. */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(_WIN32)
#define IMPORT __declspec(dllimport)
#else
#define IMPORT
#endif

typedef struct {
    const void *codes;
    const uint32_t *rows;
    const uint64_t *entries;
    void *out;
    int64_t row_count, table_rows;
    int32_t code_size, out_size, b, width;
} drawing;

typedef struct {
    int64_t n, count;
    const int32_t *sets;
    const int64_t *starts;
    const double *gain, *above;
    double *total;
} vertex_table;

IMPORT const char *extremal_source_digest(void);
IMPORT int64_t extremal_widest(void);
IMPORT int64_t extremal_build(const uint64_t *, int64_t, int64_t, int, uint64_t *, uint64_t *);
IMPORT int64_t extremal_draw(const drawing *, const uint64_t *, int64_t, int64_t);
IMPORT int64_t extremal_tally(const void *, int64_t, int64_t, int64_t, int64_t *);
IMPORT int64_t extremal_lattice_fill(int64_t, const int64_t *, const double *, int64_t, double *, bool *);
IMPORT int64_t extremal_lattice_trace(int64_t, const int64_t *, const bool *, int64_t, int64_t, bool *);
IMPORT int64_t extremal_vertex_sets(int64_t, const double *, double, int32_t *, int64_t *);
IMPORT int64_t extremal_vertex_price(const vertex_table *, const double *, const double *, double, int64_t, int64_t *,
                                     double *, double *);

/* FNV-1a over bytes: every bit of a double counts. */
static uint64_t hash(const void *data, size_t size) {
    const unsigned char *bytes = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

/* The table, words and outcomes of src/extremal/draw/kernel.py. */
#define ONE ((uint64_t)1)
static const char *OUTCOMES = "2011001000010011002012011001000010011002012011001000011011002";

static bool draws(int32_t width) {
    const uint64_t weights[9] = {(ONE << 62) - 3, 1, 2, (uint64_t)3 << 59, (uint64_t)5 << 59, 0, (ONE << 60) - 1,
                                 (ONE << 61) + 8, (ONE << 60) - 7};
    const uint32_t rows[4] = {2, 0, 1, 3};
    uint64_t row[4], entries[16] = {0}, words[61];
    uint8_t codes[61], out[61];
    if (extremal_build(weights, 3, 3, 2, row, entries) != 3) return false;
    for (int i = 0; i < 61; i++) words[i] = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u, codes[i] = (uint8_t)(i % 3);
    const drawing d = {codes, rows, entries, out, 4, 4, 0, 0, 2, width};
    extremal_draw(&d, words, 0, 61);
    for (int i = 0; i < 61; i++)
        if (out[i] != (uint8_t)(OUTCOMES[i] - '0')) return false;
    return true;
}

#define N 9
#define SETS (1 << N)
#define CELLS 200

int main(void) {
    printf("sources %s\n", extremal_source_digest());
    for (int32_t width = 0; width <= (int32_t)extremal_widest(); width++)
        if (!draws(width)) {
            printf("wrong draws with instructions of width %" PRId32 "\n", width);
            return 1;
        }
    printf("draws right\n");

    int64_t counts[N], tables[4 * N] = {0}, starts[N + 1], best[3 * N];
    double gain[N], price[N], room[SETS], reached[CELLS], value[3 * N], largest;
    static bool takes[N * CELLS];
    bool chosen[N];
    uint16_t codes[1000];
    uint64_t state = 26;
    for (int i = 0; i < 1000; i++) state = state * 6364136223846793005u + 1442695040888963407u, codes[i] = (uint16_t)(state >> 60);
    if (extremal_tally(codes, 2, 1000, N, tables)) return 1;
    printf("tally %016" PRIx64 "\n", hash(tables, sizeof(int64_t) * N));

    for (int i = 0; i < N; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        counts[i] = 3 + (int64_t)(state >> 59), gain[i] = (double)(state >> 11) * 0x1p-53, price[i] = 1.0 / (i + 3);
    }
    extremal_lattice_fill(N, counts, gain, CELLS, reached, takes);
    int64_t cell = 0;
    for (int64_t s = 0; s < CELLS; s++)
        if (reached[s] > reached[cell]) cell = s;
    if (extremal_lattice_trace(N, counts, takes, CELLS, cell, chosen)) return 1;
    printf("lattice %016" PRIx64 " %016" PRIx64 "\n", hash(reached, sizeof reached), hash(chosen, sizeof chosen));

    for (int s = 0; s < SETS; s++) {
        room[s] = 0.45;
        for (int i = 0; i < N; i++)
            if (s >> i & 1) room[s] -= (i + 1) / 45.0;
    }
    static int32_t sets[N * SETS / 2];
    static double above[N * SETS / 2], extra[N * SETS / 2], total[SETS];
    const int64_t count = extremal_vertex_sets(N, room, 1e-12, sets, starts);
    for (int64_t v = 0; v < count; v++) above[v] = room[sets[v] & (SETS - 1)], extra[v] = 0.3 * above[v];
    const vertex_table t = {N, count, sets, starts, extra, above, total};
    if (extremal_vertex_price(&t, gain, price, -1.0, 3, best, value, &largest)) return 1;
    printf("vertices %" PRId64 " %016" PRIx64 " %016" PRIx64 "\n", count, hash(value, sizeof value), hash(best, sizeof best));
    return 0;
}
