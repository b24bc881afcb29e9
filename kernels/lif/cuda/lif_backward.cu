// The neuron backward, LIF_CHUNK steps at a time from the last (formulas: contract.py; one step:
// lif_step.h): recomputes v from the chunk's checkpoint into registers, then in reverse
//
//   e = gs sigma'(v) + gv + gp rho(v);  gp = decay e;  out = a e + b (x - center) + c
//
// with a = scale, b = c = 0 unless LIF_MIX_ERROR. The sums over time of e and of e (x - center)
// stay in registers. Bytes for each float32 element: 4 (x) + 4 (gs) + 4 (out) + 4/32 (checkpoints)
// [+ 4 gv]; nothing is read twice. Three bfloat16 parts that add up to out are 6 more, or replace
// it.
//
// A chunk's x, gs and gv are loaded before any of them is used; with LIF_AHEAD, the next chunk is
// loaded while this one is computed, because a load takes several hundred cycles. Strides:
// lif_sequences.h.

#include "lif_sequences.h"

// A tensor at the last step of the last chunk, as if that chunk were whole.
#define LIF_AT_LAST(name) (LIF_AT(name) + (last_chunk * LIF_CHUNK + LIF_CHUNK - 1) * name##_step)

// The first `count` steps of a tensor's chunk, from the last to the first.
#define LIF_LOAD_STEPS(access, name, into)                                                           \
  _Pragma("unroll") for (int j = LIF_CHUNK - 1; j >= 0; --j, name##_at -= name##_step) if (j < count) \
      into[j] = lif_load<access>(name##_at, name##_last, place);

extern "C" __global__ void __launch_bounds__(LIF_BLOCK, LIF_BLOCKS) lif_backward(
    LIF_IF(LIF_GRAD_SPIKES, LIF_TENSOR(const LIF_TYPE_GRAD_SPIKES, grad_spikes), )
    LIF_IF(LIF_GRAD_TRACE, LIF_TENSOR(const LIF_TYPE_GRAD_TRACE, grad_trace), )
    LIF_IF(LIF_GRAD_CURRENTS, LIF_TENSOR(LIF_TYPE_GRAD_CURRENTS, grad_currents), )
    LIF_IF(LIF_GRAD_PARTS, LIF_TENSOR(LifBfloat, grad_parts), )
    LIF_TENSOR(const LIF_TYPE_CURRENTS, currents), LIF_TENSOR(const LIF_TYPE_CHECKPOINTS, checkpoints),
    LIF_IF(LIF_SCALE, LIF_TENSOR(const float, scale), )
    LIF_IF(LIF_SHIFT, LIF_TENSOR(const float, shift), )
    LIF_IF(LIF_GRAD_FINAL, LIF_TENSOR(const float, grad_final), )
    LIF_IF(LIF_CENTER, LIF_TENSOR(const float, center), )
    LIF_IF(LIF_MIX_ERROR, LIF_TENSOR(const float, mix_error), )
    LIF_IF(LIF_MIX_ERROR, LIF_TENSOR(const float, mix_current), )
    LIF_IF(LIF_MIX_ERROR, LIF_TENSOR(const float, mix_constant), )
    LIF_IF(LIF_GRAD_STATE, LIF_TENSOR(float, grad_state), )
    LIF_IF(LIF_SUM_ERROR, LIF_TENSOR(float, sum_error), )
    LIF_IF(LIF_SUM_BY_CURRENT, LIF_TENSOR(float, sum_by_current), )
    LIF_IF(LIF_GRAD_PARTS, long long next_part, )
    LIF_WALK_AND_NEURON) {
  LIF_BEGIN
  float gp[LIF_WIDTH] = {};
  LIF_IF(LIF_GRAD_FINAL, LIF_READ(grad_final, gp);)
  LIF_IF(LIF_CENTER, LIF_TAKE(center, centers))
  LIF_IF(LIF_MIX_ERROR, LIF_TAKE(mix_error, by_error) LIF_TAKE(mix_current, by_current) LIF_TAKE(mix_constant, constant))
  LIF_IF(LIF_SUM_ERROR, float errors[LIF_WIDTH] = {};)
  LIF_IF(LIF_SUM_BY_CURRENT, float products[LIF_WIDTH] = {};)
  const long long last_chunk = (steps - 1) / LIF_CHUNK;
  const LIF_TYPE_CURRENTS* __restrict__ currents_at = LIF_AT_LAST(currents);
  const float* __restrict__ checkpoints_at = LIF_AT(checkpoints) + last_chunk * checkpoints_step;
  LIF_IF(LIF_GRAD_SPIKES, const LIF_TYPE_GRAD_SPIKES* __restrict__ grad_spikes_at = LIF_AT_LAST(grad_spikes);)
  LIF_IF(LIF_GRAD_TRACE, const LIF_TYPE_GRAD_TRACE* __restrict__ grad_trace_at = LIF_AT_LAST(grad_trace);)
  LIF_IF(LIF_GRAD_CURRENTS, LIF_TYPE_GRAD_CURRENTS* __restrict__ grad_currents_at = LIF_AT_LAST(grad_currents);)
  // The first part only: three pointers would take too many registers.
  LIF_IF(LIF_GRAD_PARTS, LifBfloat* __restrict__ grad_parts_at = LIF_AT_LAST(grad_parts);)

  // All loads of one chunk.
  struct Chunk {
    LifPack<float> state;
    LifPack<LIF_TYPE_CURRENTS> x[LIF_CHUNK];
    LIF_IF(LIF_GRAD_SPIKES, LifPack<LIF_TYPE_GRAD_SPIKES> gs[LIF_CHUNK];)
    LIF_IF(LIF_GRAD_TRACE, LifPack<LIF_TYPE_GRAD_TRACE> gv[LIF_CHUNK];)
  };
  Chunk now = {};
  // Loads the next chunk, earlier in time, of `count` steps: only the last chunk in time is
  // shorter.
  auto load = [&](Chunk& to, int count) {
    to.state = lif_load<LIF_CHECKPOINTS>(checkpoints_at, checkpoints_last, place);
    checkpoints_at -= checkpoints_step;
    LIF_LOAD_STEPS(LIF_CURRENTS, currents, to.x)
    LIF_IF(LIF_GRAD_SPIKES, LIF_LOAD_STEPS(LIF_GRAD_SPIKES, grad_spikes, to.gs))
    LIF_IF(LIF_GRAD_TRACE, LIF_LOAD_STEPS(LIF_GRAD_TRACE, grad_trace, to.gv))
  };
  float v[LIF_CHUNK][LIF_WIDTH], p[LIF_WIDTH];
  auto replay = [&](int j) {
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) {
      v[j][i] = lif_integrate(neuron, p[i], lif_current(lif_decode(now.x[j].get(i)), scales[i], shifts[i]));
      p[i] = lif_reset(neuron, v[j][i], lif_spike(neuron, v[j][i]));
    }
  };
  auto reverse = [&](int j, bool is_step) {
    float out[LIF_WIDTH];
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) {
      float grad_spike = 0.0f, grad_potential = 0.0f, x = lif_decode(now.x[j].get(i));
      LIF_IF(LIF_GRAD_SPIKES, grad_spike = lif_decode(now.gs[j].get(i));)
      LIF_IF(LIF_GRAD_TRACE, grad_potential = lif_decode(now.gv[j].get(i));)
      LIF_IF(LIF_CENTER, x = x - centers[i];)
      const float e = lif_error(neuron, v[j][i], grad_spike, grad_potential, gp[i]);
      gp[i] = is_step ? decay * e : gp[i];
#if LIF_MIX_ERROR
      out[i] = by_error[i] * e + by_current[i] * x + constant[i];
#elif LIF_SCALE
      out[i] = scales[i] * e;
#else
      out[i] = e;
#endif
      LIF_IF(LIF_SUM_ERROR, errors[i] = is_step ? errors[i] + e : errors[i];)
      LIF_IF(LIF_SUM_BY_CURRENT, products[i] = is_step ? products[i] + e * x : products[i];)
    }
#if LIF_GRAD_CURRENTS
    if (is_step) lif_store<LIF_GRAD_CURRENTS>(grad_currents_at, grad_currents_last, place, out);
    grad_currents_at -= grad_currents_step;
#endif
#if LIF_GRAD_PARTS
    float parts[3][LIF_WIDTH];
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) lif_split(out[i], parts[0][i], parts[1][i], parts[2][i]);
#pragma unroll
    for (int k = 0; k < 3; ++k)
      if (is_step) lif_store<LIF_GRAD_PARTS>(grad_parts_at + k * next_part, grad_parts_last, place, parts[k]);
    grad_parts_at -= grad_parts_step;
#endif
  };
  // Steps from `count` on are computed without effect: branches would prevent overlapping steps.
  auto compute = [&](int count) {
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) p[i] = now.state.get(i);
#pragma unroll
    for (int j = 0; j < LIF_CHUNK; ++j) replay(j);
#pragma unroll
    for (int j = LIF_CHUNK - 1; j >= 0; --j) reverse(j, j < count);
  };

  const int rest = (int)(steps % LIF_CHUNK);
  if (rest > 0) {  // the last chunk in time is shorter
    load(now, rest);
    compute(rest);
  }
  long long chunks = steps / LIF_CHUNK;
#if LIF_AHEAD
  Chunk next;
  if (chunks > 0) load(next, LIF_CHUNK);
  for (; chunks > 0; --chunks) {
    now = next;
    if (chunks > 1) load(next, LIF_CHUNK);
    compute(LIF_CHUNK);
  }
#else
  for (; chunks > 0; --chunks) {
    load(now, LIF_CHUNK);
    compute(LIF_CHUNK);
  }
#endif
  LIF_IF(LIF_GRAD_STATE, LIF_WRITE(grad_state, gp);)
  LIF_IF(LIF_SUM_ERROR, LIF_WRITE(sum_error, errors);)
  LIF_IF(LIF_SUM_BY_CURRENT, LIF_WRITE(sum_by_current, products);)
}
