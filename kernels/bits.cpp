// Spikes 0 or 1 in bits on CPUs, and back: `count` floats side by side, a multiple of eight; the first of eight is the lowest bit.
// Compiled at first use.

#include <cstdint>
#ifdef __AVX2__
#include <immintrin.h>
#endif

static inline uint8_t byte_of(const float* x) {
#ifdef __AVX2__
  return (uint8_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_setzero_ps(), _CMP_NEQ_UQ));
#else
  unsigned byte = 0;
  for (int j = 0; j < 8; ++j) byte |= (x[j] != 0.0f ? 1u : 0u) << j;
  return (uint8_t)byte;
#endif
}

static inline void floats_of(uint8_t byte, float* x) {
#ifdef __AVX2__
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(byte), bit), bit);
  _mm256_storeu_ps(x, _mm256_and_ps(_mm256_castsi256_ps(set), _mm256_set1_ps(1.0f)));
#else
  for (int j = 0; j < 8; ++j) x[j] = (float)((byte >> j) & 1);
#endif
}

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
