// The neuron forward over all time steps, with the state in registers (formulas: contract.py; one
// step: lif_step.h):
//
//   v = decay p + (scale x + shift);  s = spike(v);  p = reset(v, s)
//
// Bytes for each float32 element: 4 (x) + 4 (spikes) + 4/32 (checkpoints) [+ 4 trace]; nothing is
// read twice.
//
// A step takes a few instructions, a load several hundred cycles, and the compiler moves no load
// over a store. So the next LIF_DEPTH steps are loaded into registers before as many are computed.
// Strides: lif_sequences.h.

#include "lif_sequences.h"

extern "C" __global__ void __launch_bounds__(LIF_BLOCK) lif_forward(
    LIF_IF(LIF_TRACE, LIF_TENSOR(LIF_TYPE_TRACE, trace), )
    LIF_IF(LIF_CHECKPOINTS, LIF_TENSOR(LIF_TYPE_CHECKPOINTS, checkpoints), )
    LIF_TENSOR(const LIF_TYPE_CURRENTS, currents), LIF_TENSOR(LIF_TYPE_SPIKES, spikes),
    LIF_IF(LIF_STATE, LIF_TENSOR(const float, state), )
    LIF_IF(LIF_SCALE, LIF_TENSOR(const float, scale), )
    LIF_IF(LIF_SHIFT, LIF_TENSOR(const float, shift), )
    LIF_TENSOR(float, final_state), LIF_WALK_AND_NEURON) {
  LIF_BEGIN
  float p[LIF_WIDTH] = {};
  LIF_IF(LIF_STATE, LIF_READ(state, p);)
  const LIF_TYPE_CURRENTS* __restrict__ currents_at = LIF_AT(currents);
  LIF_IF(LIF_TRACE, LIF_TYPE_TRACE* __restrict__ trace_at = LIF_AT(trace);)
  LIF_IF(LIF_CHECKPOINTS, float* __restrict__ checkpoints_at = LIF_AT(checkpoints);)
#if LIF_BITS
  LifPlace byte = place;
  byte.index.over[LIF_DIMS - 1] /= LIF_WIDTH;
  LifByte* __restrict__ spikes_at = spikes + lif_offset(byte, LIF_OF(spikes));
#else
  LIF_TYPE_SPIKES* __restrict__ spikes_at = LIF_AT(spikes);
#endif

  LifPack<LIF_TYPE_CURRENTS> now[LIF_DEPTH] = {}, next[LIF_DEPTH] = {};
  // Loads the next DEPTH steps, or the `left` last ones. The branch makes this a separate block,
  // where the compiler cannot delay a load.
  auto load = [&](long long left) {
    if (left >= LIF_DEPTH) {
#pragma unroll
      for (int j = 0; j < LIF_DEPTH; ++j, currents_at += currents_step)
        next[j] = lif_load<LIF_CURRENTS>(currents_at, currents_last, place);
    } else {
#pragma unroll
      for (int j = 0; j < LIF_DEPTH; ++j, currents_at += currents_step)
        if (j < left) next[j] = lif_load<LIF_CURRENTS>(currents_at, currents_last, place);
    }
  };
  auto advance = [&](const LifPack<LIF_TYPE_CURRENTS>& x) {
    float v[LIF_WIDTH], s[LIF_WIDTH];
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) {
      v[i] = lif_integrate(neuron, p[i], lif_current(lif_decode(x.get(i)), scales[i], shifts[i]));
      s[i] = lif_spike(neuron, v[i]);
      p[i] = lif_reset(neuron, v[i], s[i]);
    }
#if LIF_BITS
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) bits |= s[i] > 0.0f && lif_owns(place, i) ? 1u << i : 0u;
    spikes_at->bits = (unsigned char)bits;
#else
    lif_store<LIF_SPIKES>(spikes_at, spikes_last, place, s);
#endif
    spikes_at += spikes_step;
#if LIF_TRACE
    lif_store<LIF_TRACE>(trace_at, trace_last, place, v);
    trace_at += trace_step;
#endif
  };
  // DEPTH divides CHUNK, or CHUNK divides DEPTH.
  auto keep = [&](long long t) {
#if LIF_CHECKPOINTS
    if (t % LIF_CHUNK == 0) {
      lif_store<LIF_CHECKPOINTS>(checkpoints_at, checkpoints_last, place, p);
      checkpoints_at += checkpoints_step;
    }
#endif
  };

  long long first = 0;
  load(steps);
  for (; first + LIF_DEPTH <= steps; first += LIF_DEPTH) {
#pragma unroll
    for (int j = 0; j < LIF_DEPTH; ++j) now[j] = next[j];
    load(steps - first - LIF_DEPTH);
#pragma unroll
    for (int j = 0; j < LIF_DEPTH; ++j) {
      if (j % LIF_CHUNK == 0) keep(first + j);
      advance(now[j]);
    }
  }
  const int rest = (int)(steps - first);
#pragma unroll
  for (int j = 0; j < LIF_DEPTH; ++j)
    if (j < rest) {
      if (j % LIF_CHUNK == 0) keep(first + j);
      advance(next[j]);
    }
  LIF_WRITE(final_state, p);
}
