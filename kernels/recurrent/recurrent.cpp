// A layer of neurons that feed their spikes back through a weight, for CPUs; formulas: contract.py.
//
// forward    every step the rows of Rᵀ that the last spikes select are added from tables of 128 × 64
//            numbers, which stay in L1 for all items, and the neuron follows while its sums do
// backward   every step a dense product e[t+1]·R in registers, with the neuron's gradient as its end;
//            the weight's gradient is that of linear/spikes.cpp, from all errors and words at once
//
// Threads process items of the batch, each from the first step to the last, and never wait for each
// other. An item's sums do not depend on the number of threads. Compiled at first use with
// RECURRENT_VALUE and RECURRENT_WEIGHT, the types of currents, spikes and their gradients, and of the
// weight, with RECURRENT_ADAPTS, 1 for an adaptive threshold, RECURRENT_SYNAPSE, 1 for a current
// that decays, and with the macros of lif_step.h. Products forward are rounded one by one
// (lif_step.h), those of the gradient are fused multiply-adds.

#include <cmath>
#include <cstdlib>

using std::floor;

#define LINEAR_NEURON 1
#include "../linear/call.h"
#include "../lif/adaptive_step.h"

#ifdef __aarch64__
#include <arm_neon.h>
#endif

struct Layer {
  int64_t threads, steps, batch, neurons;
  int64_t strides[3];  // of the currents (forward) or of the spikes' gradient (backward): time, batch, neurons
  LifNeuron neuron;
  Adaptation adaptation;
  float current_decay;

  int64_t rows() const { return steps * batch; }
  int64_t blocks() const { return parts(neurons, BLOCK); }
  int64_t selected() const { return parts(neurons, SELECTED); }
  // The first item of a thread's part, of `threads` parts.
  int64_t first(int64_t part) const { return batch * part / threads; }
};

// A third state beside potential and spikes: the threshold's rise a, or the current i.
constexpr bool THIRD = RECURRENT_ADAPTS || RECURRENT_SYNAPSE;

#ifdef RECURRENT_FORWARD

struct ForwardArrays {
  const RECURRENT_VALUE* currents;  // x (T, B, N), any strides
  const RECURRENT_WEIGHT* weight;   // R (N, N)
  const float* bias;                // (N,), may be missing
  const float* state;               // p[-1], s[-1] and a[0] or i[-1] if there is one (2 or 3, B, N), may be missing
  RECURRENT_VALUE* spikes;          // s (T, B, N), may be missing
  float* potentials;                // v (T, B, N), may be missing, or the currents themselves; a (T, B, N) follows
  float* final_state;               // p[T-1], s[T-1] and a[T] or i[T-1]
  int64_t* words;                   // the number of ones in s[t-1], and its words: [words][T·B]
  int64_t* next;                    // the same of s[t], for a next layer; may be missing
};

struct Items {  // of a thread, over all steps
  const Layer& n;
  const ForwardArrays& arrays;
  const int64_t first, items;
  const float* tables;  // rows of Rᵀ: [blocks][selected][TABLE]
  float *states, *thirds, *sums;  // p, and a or i: [blocks][items][64]; [items][64]
  const Lists lists;
  const bool past;
  int64_t ones = 0, before = 0, last = 0;  // in all s[t-1]; in s[-1] and s[T-1]

  uint64_t* words(int64_t block, int64_t step) const {
    return (uint64_t*)arrays.words + 1 + block * n.rows() + step * n.batch + first;
  }

  void start() {
    for (int64_t block = 0; block < n.blocks(); ++block) {
      const int64_t count = smaller(BLOCK, n.neurons - block * BLOCK);
      for (int64_t item = 0; item < items; ++item) {
        alignas(64) float s[BLOCK] = {};
        float* p = states + (block * items + item) * BLOCK;
        memset(p, 0, BLOCK * 4);
        float* third = thirds + (block * items + item) * BLOCK;
        if (THIRD) memset(third, 0, BLOCK * 4);
        if (arrays.state) {
          const float* from = arrays.state + (first + item) * n.neurons + block * BLOCK;
          memcpy(p, from, count * 4);
          if (THIRD) memcpy(third, from + 2 * n.batch * n.neurons, count * 4);
          for (int64_t j = 0; j < count; ++j) s[j] = from[n.batch * n.neurons + j] != 0.0f ? 1.0f : 0.0f;
        }
        bool strange = false;
        before += __builtin_popcountll(words(block, 0)[item] = ones_of(s, &strange));
      }
    }
    ones = before;
  }

  void step(int64_t t) {
    for (int64_t k = 0; k < n.selected(); ++k)
      for (int64_t segment = 0; segment < lists.segments; ++segment)
        lists.fill(k, segment, words(2 * k, t), 2 * k + 1 < n.blocks() ? words(2 * k + 1, t) : nullptr);
    for (int64_t block = 0; block < n.blocks(); ++block) {
      const int64_t count = smaller(BLOCK, n.neurons - block * BLOCK);
      for (int64_t k = 0; k < n.selected(); ++k) {
        const auto then = [&](int64_t from, int64_t to) {
          if (k == n.selected() - 1) count == BLOCK ? fire(t, block, from, to, BLOCK) : fire(t, block, from, to, count);
        };
        add_by_lists(lists, k, tables + (block * n.selected() + k) * TABLE, 1.0f, !k, sums, then);
      }
    }
  }

  // The neuron, of some items and a block of neurons with summed currents.
  __attribute__((always_inline)) void fire(int64_t t, int64_t block, int64_t from, int64_t to, int64_t count) {
    const LifNeuron neuron = n.neuron;
    alignas(64) float x_buffer[BLOCK], s_buffer[BLOCK], v_buffer[BLOCK], a_buffer[BLOCK], shift[BLOCK] = {};
    if (arrays.bias) memcpy(shift, arrays.bias + block * BLOCK, count * 4);
    for (int64_t item = from; item < to; ++item) {
      const int64_t row = t * n.batch + first + item, at = row * n.neurons + block * BLOCK;
      const RECURRENT_VALUE* currents =
          arrays.currents + t * n.strides[0] + (first + item) * n.strides[1] + block * BLOCK * n.strides[2];
      const float* x = block_of(currents, n.strides[2], count, x_buffer);  // may be v
      const float* __restrict sum = sums + item * BLOCK;
      float* __restrict s = arrays.spikes ? place_block(arrays.spikes + at, s_buffer, count, past) : s_buffer;
      float* v = arrays.potentials ? place_block(arrays.potentials + at, v_buffer, count, false) : v_buffer;
      float* __restrict p = states + (block * items + item) * BLOCK;
#if RECURRENT_ADAPTS
      const Adaptation adaptation = n.adaptation;
      float* rise_to = arrays.potentials ? arrays.potentials + n.rows() * n.neurons + at : a_buffer;
      float* __restrict rise = arrays.potentials ? place_block(rise_to, a_buffer, count, false) : a_buffer;
      float* __restrict a = thirds + (block * items + item) * BLOCK;
#pragma omp simd
      for (int64_t j = 0; j < BLOCK; ++j) {
        const float potential = lif_integrate(neuron, p[j], x[j] + (sum[j] + shift[j]));
        const float spike = lif_spike(neuron, potential - a[j]);
        p[j] = adaptive_reset(neuron, adaptation, potential, spike, a[j]);
        s[j] = spike;
        v[j] = potential;
        rise[j] = a[j];
        a[j] = adaptation.decay * a[j] + adaptation.jump * spike;
      }
      if (arrays.potentials) put_block(rise_to, rise, count, false);
#else
      float* __restrict i = thirds + (block * items + item) * BLOCK;
#pragma omp simd
      for (int64_t j = 0; j < BLOCK; ++j) {
        float current = x[j] + (sum[j] + shift[j]);
        if (RECURRENT_SYNAPSE) i[j] = current = n.current_decay * i[j] + current;
        const float potential = lif_integrate(neuron, p[j], current), spike = lif_spike(neuron, potential);
        p[j] = lif_reset(neuron, potential, spike);
        s[j] = spike;
        v[j] = potential;
      }
#endif
      bool strange = false;
      const uint64_t word = ones_of(s, &strange);
      if (arrays.next) ((uint64_t*)arrays.next)[1 + block * n.rows() + row] = word;
      if (t + 1 < n.steps) {
        ones += __builtin_popcountll(words(block, t + 1)[item] = word);
      } else {
        last += __builtin_popcountll(word);
        float* after = arrays.final_state + (first + item) * n.neurons + block * BLOCK;
        memcpy(after, p, count * 4);
        memcpy(after + n.batch * n.neurons, s, count * 4);
        if (THIRD) memcpy(after + 2 * n.batch * n.neurons, thirds + (block * items + item) * BLOCK, count * 4);
      }
      if (arrays.spikes) put_block(arrays.spikes + at, s, count, past);
      if (arrays.potentials) put_block(arrays.potentials + at, v, count, false);
    }
  }
};

extern "C" int64_t recurrent_forward(const Layer* layer, const ForwardArrays* arrays) {
  const Layer n = *layer;
  const int64_t most = parts(n.batch, n.threads), of_tables = n.blocks() * n.selected();
  const int64_t of_states = Memory::room<float>(n.blocks() * most * BLOCK), of_sums = Memory::room<float>(most * BLOCK);
  const int64_t of_thirds = THIRD ? of_states : 0;
  const int64_t own = of_states + of_thirds + of_sums + Memory::room<uint8_t>(Lists::bytes(most, n.selected()));
  Memory memory(Memory::room<float>(of_tables * TABLE) + n.threads * own);
  if (!memory.start) return NO_MEMORY;
  float* tables = memory.take<float>(of_tables * TABLE);
  uint8_t* owned = memory.take<uint8_t>(n.threads * own);
  const bool past = n.rows() * n.neurons * (int64_t)sizeof(RECURRENT_VALUE) > LARGE;
  int64_t ones = 0, next = 0;
#pragma omp parallel num_threads(n.threads) if (n.threads > 1) reduction(+ : ones, next)
  {
#pragma omp for schedule(static)
    for (int64_t table = 0; table < of_tables; ++table) {
      const int64_t row = table / n.selected() * BLOCK, column = table % n.selected() * SELECTED;
      memset(tables + table * TABLE, 0, TABLE * 4);
      transpose(arrays->weight + row * n.neurons + column, n.neurons, smaller(BLOCK, n.neurons - row),
                smaller(SELECTED, n.neurons - column), 1.0f, tables + table * TABLE, BLOCK);
    }
#pragma omp for schedule(static)
    for (int64_t part = 0; part < n.threads; ++part) {
      const int64_t first = n.first(part), items = n.first(part + 1) - first;
      uint8_t* to = owned + part * own;
      float *states = (float*)to, *thirds = (float*)(to + of_states), *sums = (float*)(to + of_states + of_thirds);
      const Lists lists(to + of_states + of_thirds + of_sums, items, n.selected());
      Items run{n, *arrays, first, items, tables, states, thirds, sums, lists, past};
      run.start();
      for (int64_t t = 0; t < n.steps; ++t) run.step(t);
      ones += run.ones;
      next += run.ones - run.before + run.last;
    }
    finish_writes();
  }
  if (arrays->next) arrays->next[0] = next;
  return arrays->words[0] = ones;
}

#endif
#ifdef RECURRENT_BACKWARD

struct BackwardArrays {
  const RECURRENT_VALUE* gradient;  // by the spikes (T, B, N), any strides
  const float* grad_final;          // by the final state, of its shape, may be missing
  const float* potentials;          // v (T, B, N), and a (T, B, N) with an adaptive threshold
  const RECURRENT_WEIGHT* weight;   // R (N, N)
  RECURRENT_VALUE* errors;          // e (T, B, N), may be the potentials themselves
  float* grad_state;                // by the state, of its shape, without s[-1]; may be missing
};

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int TILE_ROWS = 8;
#else
constexpr int TILE_ROWS = 6;
#endif
constexpr int64_t WIDTH = 2 * LANES;  // columns of R in a panel
constexpr int64_t BUFFERS = THIRD ? 4 : 3;

INLINE Vector multiply_add(float a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return (Vector)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c);
#elif defined(__AVX__) && defined(__FMA__)
  return (Vector)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c);
#elif defined(__aarch64__)
  return (Vector)vfmaq_n_f32((float32x4_t)c, (float32x4_t)b, a);
#else
  return a * b + c;
#endif
}

// to[ROWS][WIDTH] = e · panel, for errors `stride` apart. Not inlined: GCC would keep too few of the
// sums in registers.
template <int ROWS>
__attribute__((noinline)) static void tile(int64_t terms, const float* e, int64_t stride, const float* panel, float* to) {
  Vector left[ROWS] = {}, right[ROWS] = {};
  for (int64_t k = 0; k < terms; ++k, panel += WIDTH) {
    const Vector b0 = load(panel), b1 = load(panel + LANES);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; ++i) {
      left[i] = multiply_add(e[i * stride + k], b0, left[i]);
      right[i] = multiply_add(e[i * stride + k], b1, right[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < ROWS; ++i) {
    store(to + i * WIDTH, left[i]);
    store(to + i * WIDTH + LANES, right[i]);
  }
}

// Some of the rows, up to TILE_ROWS: all that are left, or half of them, if that makes one or two
// tiles. Returns their number.
template <int ROWS = TILE_ROWS>
static int64_t tile_of(int64_t rows, int64_t terms, const float* e, int64_t stride, const float* panel, float* to) {
  if (rows > TILE_ROWS) rows = rows < 2 * TILE_ROWS ? parts(rows, 2) : TILE_ROWS;
  if constexpr (ROWS > 1) {
    if (rows < ROWS) return tile_of<ROWS - 1>(rows, terms, e, stride, panel, to);
  }
  return tile<ROWS>(terms, e, stride, panel, to), ROWS;
}

// `count` ≤ WIDTH numbers as floats: in place, or in `buffer`, padded with zeros.
template <typename T>
INLINE const float* columns_of(const T* from, int64_t stride, int64_t count, float* __restrict buffer) {
  if (stride == 1 && count == WIDTH) {
    if (sizeof(T) == sizeof(float)) return (const float*)from;
#pragma omp simd
    for (int64_t j = 0; j < WIDTH; ++j) buffer[j] = widen(from[j]);
    return buffer;
  }
  for (int64_t j = 0; j < WIDTH; ++j) buffer[j] = j < count ? widen(from[j * stride]) : 0.0f;
  return buffer;
}

struct Backwards {  // of a thread's items
  const Layer& n;
  const BackwardArrays& arrays;
  const int64_t first, items, stride;
  const float* panels;  // columns of R: [N / WIDTH][N][WIDTH]
  float *after, *later, *now, *thirds;  // gp[t], e[t+1], e[t], and ga[t+1] or gi[t]: [items][stride]

  void run() {
    memset(after, 0, BUFFERS * items * stride * 4);  // all of them
    for (int64_t item = 0; arrays.grad_final && item < items; ++item) {
      const float* from = arrays.grad_final + (first + item) * n.neurons;
      memcpy(after + item * stride, from, n.neurons * 4);
      if (THIRD) memcpy(thirds + item * stride, from + 2 * n.batch * n.neurons, n.neurons * 4);
    }
    for (int64_t t = n.steps - 1; t >= 0; --t) {
      for (int64_t column = 0; column < n.neurons; column += WIDTH) {
        const int64_t count = smaller(WIDTH, n.neurons - column);
        for (int64_t item = 0; item < items;) {
          alignas(64) float fed_back[TILE_ROWS * WIDTH];
          const int64_t rows = t == n.steps - 1
                                   ? last(item, column, count, fed_back)
                                   : tile_of(items - item, n.neurons, later + item * stride, stride,
                                             panels + column * n.neurons, fed_back);
          count == WIDTH ? errors(t, item, rows, column, WIDTH, fed_back) : errors(t, item, rows, column, count, fed_back);
          item += rows;
        }
      }
      std::swap(later, now);
    }
    for (int64_t item = 0; arrays.grad_state && item < items; ++item) {
      float* to = arrays.grad_state + (first + item) * n.neurons;
      memcpy(to, after + item * stride, n.neurons * 4);
      if (THIRD) memcpy(to + 2 * n.batch * n.neurons, thirds + item * stride, n.neurons * 4);
    }
  }

  // In place of what the next step feeds back: the gradient by the final spikes, of one item.
  int64_t last(int64_t item, int64_t column, int64_t count, float* to) const {
    memset(to, 0, WIDTH * 4);
    if (arrays.grad_final) memcpy(to, arrays.grad_final + (n.batch + first + item) * n.neurons + column, count * 4);
    return 1;
  }

  __attribute__((always_inline)) void errors(int64_t t, int64_t item, int64_t rows, int64_t column, int64_t count,
                                             const float* fed_back) {
    const LifNeuron neuron = n.neuron;
    alignas(64) float g_buffer[WIDTH], v_buffer[WIDTH], a_buffer[WIDTH];
    for (int64_t i = item; i < item + rows; ++i, fed_back += WIDTH) {
      const int64_t at = (t * n.batch + first + i) * n.neurons + column;
      const RECURRENT_VALUE* gradient =
          arrays.gradient + t * n.strides[0] + (first + i) * n.strides[1] + column * n.strides[2];
      const float* __restrict g = columns_of(gradient, n.strides[2], count, g_buffer);
      const float* v = columns_of(arrays.potentials + at, 1, count, v_buffer);  // may be where e is written
      const float* __restrict r = fed_back;
      float *__restrict p = after + i * stride + column, *__restrict e = now + i * stride + column;
#if RECURRENT_ADAPTS
      const Adaptation adaptation = n.adaptation;
      const float* __restrict a = columns_of(arrays.potentials + n.rows() * n.neurons + at, 1, count, a_buffer);
      float* __restrict rise = thirds + i * stride + column;
#else
      float* __restrict by_current = thirds + i * stride + column;
#endif
#pragma omp simd
      for (int64_t j = 0; j < WIDTH; ++j) {
#if RECURRENT_ADAPTS
        e[j] = adaptive_error(neuron, adaptation, v[j], a[j], g[j] + r[j], p[j], rise + j);
#else
        e[j] = lif_error(neuron, v[j], g[j] + r[j], 0.0f, p[j]);
#endif
        p[j] = neuron.decay * e[j];
#if RECURRENT_SYNAPSE
        e[j] += by_current[j];
        by_current[j] = n.current_decay * e[j];
#endif
      }
      RECURRENT_VALUE* to = arrays.errors + at;
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) narrow(e[j], to + j);
    }
  }
};

extern "C" int64_t recurrent_backward(const Layer* layer, const BackwardArrays* arrays) {
  const Layer n = *layer;
  // Rows of 4096 bytes would share sets of L1.
  const int64_t panels = parts(n.neurons, WIDTH), stride = n.blocks() * BLOCK + LANES;
  const int64_t most = parts(n.batch, n.threads), own = Memory::room<float>(BUFFERS * most * stride);
  Memory memory(Memory::room<float>(panels * n.neurons * WIDTH) + n.threads * own);
  if (!memory.start) return NO_MEMORY;
  float* columns = memory.take<float>(panels * n.neurons * WIDTH);
  uint8_t* owned = memory.take<uint8_t>(n.threads * own);
#pragma omp parallel num_threads(n.threads) if (n.threads > 1)
  {
#pragma omp for schedule(static)
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t column = panel * WIDTH, count = smaller(WIDTH, n.neurons - column);
      float* to = columns + column * n.neurons;
      for (int64_t i = 0; i < n.neurons; ++i, to += WIDTH) {
        const float* from = columns_of(arrays->weight + i * n.neurons + column, 1, count, to);
        if (from != to) memcpy(to, from, WIDTH * 4);
      }
    }
#pragma omp for schedule(static)
    for (int64_t part = 0; part < n.threads; ++part) {
      const int64_t first = n.first(part), items = n.first(part + 1) - first;
      float* to = (float*)(owned + part * own);
      const int64_t each = items * stride;
      Backwards{n, *arrays, first, items, stride, columns, to, to + each, to + 2 * each, to + 3 * each}.run();
    }
  }
  return 0;
}

#endif
