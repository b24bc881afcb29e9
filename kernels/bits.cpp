// Packs `count` 0/1 spikes, a multiple of eight, from floats into bits on CPUs, and back; the first
// of eight is the lowest bit. Compiled at first use.

#include "bits.h"

extern "C" {

void pack(int64_t threads, int64_t count, const float* x, uint8_t* stored) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t k = 0; k < count / 8; ++k) stored[k] = byte_of(x + 8 * k);
}

void unpack(int64_t threads, int64_t count, const uint8_t* stored, float* x) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t k = 0; k < count / 8; ++k) floats_of(stored[k], x + 8 * k);
}
}
