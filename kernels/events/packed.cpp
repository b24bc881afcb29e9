// Delivers batches of packed frames on CPUs: unpacks a recording's bits to floats, adds its lists
// while they are in cache, and moves the counts by the shift. Bytes for each bin of a batch: 1/8
// and the lists' are read, 4 are written.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../bits.h"

static void move(int64_t rows, int64_t channels, int64_t shift, float* frames) {
  shift = std::clamp(shift, -channels, channels);
  const int64_t kept = channels - std::abs(shift), from = std::max<int64_t>(-shift, 0), to = std::max<int64_t>(shift, 0);
  for (float* row = frames; row < frames + rows * channels; row += channels) {
    memmove(row + to, row + from, kept * sizeof(float));
    std::fill(shift > 0 ? row : row + kept, shift > 0 ? row + shift : row + channels, 0.0f);
  }
}

extern "C" void deliver(int64_t threads, int64_t count, int64_t bins, int64_t channels, const int64_t* chosen, const int32_t* shift,
                        const uint8_t* bits, const int64_t* starts, const uint16_t* entries, float* batch) {
  const int64_t bytes = (bins + 7) / 8, tiles = (bins + TILE - 1) / TILE;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t item = 0; item < count; ++item) {
    const uint8_t* stored = bits + chosen[item] * bytes;
    const int64_t* start = starts + chosen[item] * tiles;
    float* to = batch + item * bins;
    for (int64_t k = 0; k < bins / 8; ++k) floats_of(stored[k], to + 8 * k);
    if (bins % 8) {
      float last[8];
      floats_of(stored[bytes - 1], last);
      memcpy(to + bins / 8 * 8, last, bins % 8 * sizeof(float));
    }
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (int64_t k = start[tile]; k < start[tile + 1]; ++k)
        to[tile * TILE + (entries[k] >> COUNT_BITS)] += (float)((entries[k] & ((1 << COUNT_BITS) - 1)) + 1);
    if (shift && shift[item]) move(bins / channels, channels, shift[item], to);
  }
}
