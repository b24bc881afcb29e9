// Batches of packed frames on CPUs: a recording's bits become floats, and its list is added to them while they are in cache.
// Bytes for each bin of a batch: 1/8 and the list's are read, 4 are written. Compiled at first use.

#include <cstring>

#include "../bits.h"

extern "C" void deliver(int64_t threads, int64_t count, int64_t bins, const int64_t* chosen, const uint8_t* bits,
                        const int64_t* starts, const uint8_t* entries, float* batch) {
  const int64_t bytes = (bins + 7) / 8;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t item = 0; item < count; ++item) {
    const int64_t recording = chosen[item];
    const uint8_t* stored = bits + recording * bytes;
    float* to = batch + item * bins;
    for (int64_t k = 0; k < bins / 8; ++k) floats_of(stored[k], to + 8 * k);
    if (bins % 8) {
      float last[8];
      floats_of(stored[bytes - 1], last);
      memcpy(to + bins / 8 * 8, last, bins % 8 * sizeof(float));
    }
    for (int64_t k = starts[recording]; k < starts[recording + 1]; ++k) {
      to += entries[2 * k];
      *to += (float)entries[2 * k + 1];
    }
  }
}
