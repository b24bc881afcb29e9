// Arguments of spikes.cpp: numbers that calls share, and addresses. launch.py packs both.

#pragma once

#include <omp.h>

#include "sums.h"

#if LINEAR_NEURON
#include "../lif/lif_step.h"
#else
struct LifNeuron {
  float decay, threshold, subtracted, slope;
};
#endif

constexpr int64_t CHUNK = 1024;  // rows that are computed together at most: their lists and sums stay in L2

struct Numbers {
  int64_t threads, steps, batch, inputs, outputs;
  int64_t largest;     // count of spikes in one input
  int64_t strides[3];  // of the input (forward) or of the gradient (backward): time, batch, last dim
  double tables_from;  // share of ones from where on sums come from tables: their time does not depend on it
  int64_t given;       // forward: 1 if `words` are filled; backward: 1 to add to `by_weight`
  LifNeuron neuron;

  int64_t rows() const { return steps * batch; }
  int64_t words() const { return parts(inputs, WORD); }  // of a row
  int planes() const {
    int planes = 0;
    for (int64_t rest = largest; rest; rest /= 2) ++planes;
    return planes;
  }
  int64_t blocks() const { return parts(outputs, BLOCK); }
};

// The dense product of dense.cpp.
typedef int64_t Dense(int64_t threads, int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_k,
                      const float* b, int64_t b_k, int64_t b_column, float* c, int64_t c_row);

INLINE bool by_tables(const Numbers& n, int64_t ones) {
  return (double)ones > n.tables_from * (double)(n.rows() * n.inputs * n.planes());
}

struct Memory {  // of a call, freed at its end
  uint8_t *start, *next;
  explicit Memory(int64_t bytes) : start((uint8_t*)aligned_alloc(64, parts(bytes, 64) * 64)), next(start) {}
  ~Memory() { free(start); }
  template <typename T>
  T* take(int64_t count) {
    uint8_t* taken = next;
    next += room<T>(count);
    return (T*)taken;
  }
  template <typename T>
  static int64_t room(int64_t count) {
    return parts(count * (int64_t)sizeof(T), 64) * 64;
  }
};

struct Own {  // memory of a thread
  float *table, *sums, *partial;

  static int64_t bytes(int64_t threads, int64_t count, bool tables) {
    const int64_t each = Memory::room<float>(TABLE) + Memory::room<float>(count) + Memory::room<float>(tables ? PARTIAL : 0);
    return Memory::room<Own>(threads) + threads * each;
  }

  static Own* take(Memory& memory, int64_t threads, int64_t count, bool tables) {
    Own* const all = memory.take<Own>(threads);
    for (int64_t i = 0; i < threads; ++i)
      all[i] = {memory.take<float>(TABLE), memory.take<float>(count), memory.take<float>(tables ? PARTIAL : 0)};
    return all;
  }
};
