// Converts eight floats, 0 or 1, to the bits of a byte and back; the first is the lowest bit.

#pragma once

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
