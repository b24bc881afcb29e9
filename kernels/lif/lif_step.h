// Arithmetic of one step of the neuron, forward and backward, for C++ and CUDA.
//
// Formulas: contract.py. Products and sums are rounded one by one: with contraction (without
// -ffp-contract=off or --fmad=false) the spikes would differ from the reference. LIF_RESET,
// LIF_DETACH, LIF_SURROGATE, LIF_MAX_SPIKES and LIF_ROUNDS are macros, so that a step has no branches.

#pragma once

#ifdef __CUDACC__
#define LIF_FUNCTION __host__ __device__ __forceinline__
#else
#define LIF_FUNCTION static inline __attribute__((always_inline))
#endif

// RESETS and SURROGATES of spec.py, in their order.
#define LIF_SOFT 0
#define LIF_HARD 1
#define LIF_NONE 2
#define LIF_SOFT_UNDECAYED 3
#define LIF_HARD_STRAIGHT 4

#define LIF_SUPERSPIKE 0
#define LIF_ATAN 1
#define LIF_SIGMOID 2
#define LIF_TRIANGLE 3
#define LIF_RECTANGLE 4
#define LIF_EXPONENTIAL 5
#define LIF_STRAIGHT_THROUGH 6

struct LifNeuron {
  float decay;
  float threshold;
  float subtracted;  // by a spike in the soft resets: threshold, or threshold / decay
  float slope;
};

// v[t] = decay * p[t-1] + i[t]
LIF_FUNCTION float lif_integrate(const LifNeuron& n, float p, float current) { return n.decay * p + current; }

// s[t] of v[t]: 0 or 1, or a count. A NaN does not fire.
LIF_FUNCTION float lif_spike(const LifNeuron& n, float v) {
#if LIF_ROUNDS
  const float count = v / n.threshold;
#elif LIF_MAX_SPIKES == 1
  return v >= n.threshold ? 1.0f : 0.0f;
#else
  const float count = floorf(v / n.threshold);
#endif
#if LIF_ROUNDS || LIF_MAX_SPIKES > 1
  const float positive = count > 0.0f ? count : 0.0f;
  const float clipped = positive < (float)LIF_MAX_SPIKES ? positive : (float)LIF_MAX_SPIKES;
#if LIF_ROUNDS
  return rintf(clipped);  // halves to the even number
#else
  return clipped;
#endif
#endif
}

// p[t] of v[t] and s[t]
LIF_FUNCTION float lif_reset(const LifNeuron& n, float v, float s) {
#if LIF_RESET == LIF_NONE
  return v;
#elif LIF_RESET == LIF_HARD || LIF_RESET == LIF_HARD_STRAIGHT
  return s > 0.0f ? 0.0f : v;
#elif LIF_MAX_SPIKES == 1
  return s > 0.0f ? v - n.subtracted : v;  // the same bits as v - subtracted * s
#else
  return v - n.subtracted * s;
#endif
}

LIF_FUNCTION float lif_absolute(float x) {
#ifdef __CUDACC__
  return fabsf(x);
#else
  return __builtin_fabsf(x);
#endif
}

// exp(x) for x <= 0 to 2 units in the last place, 0 below -87; branch-free for vectorisation. NaN
// stays NaN.
LIF_FUNCTION float lif_exp_negative(float x) {
  const float clamped = x < -87.0f ? -87.0f : x;
  const float shifted = clamped * 1.44269504f + 12582912.0f;  // adding 1.5 * 2^23 rounds to an integer
  const float n = shifted - 12582912.0f;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;  // |r| <= ln(2) / 2
  float y = 1.9875691500e-4f;  // Cephes expf: minimax polynomial of (exp(r) - 1 - r) / r^2
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = (y * (r * r) + r) + 1.0f;
  union {
    int bits;
    float value;
  } power;
  power.bits = ((int)n + 127) << 23;
  return x < -87.0f ? 0.0f : y * power.value;
}

// 1 / x for x >= 1, for gradients only. On a GPU to one unit in the last place: correct rounding
// would take a branch and a call at every step, which prevents overlapping steps.
LIF_FUNCTION float lif_reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

// sigma'(v - threshold)
LIF_FUNCTION float lif_surrogate(const LifNeuron& n, float v) {
  const float u = v - n.threshold;
#if LIF_ROUNDS
  return u >= -n.threshold && u <= (float)(LIF_MAX_SPIKES - 1) * n.threshold ? 1.0f / n.threshold : 0.0f;
#elif LIF_SURROGATE == LIF_SUPERSPIKE
  const float w = 1.0f + n.slope * lif_absolute(u);
  return lif_reciprocal(w * w);
#elif LIF_SURROGATE == LIF_ATAN
  const float w = 3.14159265f * n.slope * u;
  return lif_reciprocal(1.0f + w * w);
#elif LIF_SURROGATE == LIF_SIGMOID
  const float e = lif_exp_negative(-n.slope * lif_absolute(u));
  const float w = 1.0f + e;
  return n.slope * e * lif_reciprocal(w * w);
#elif LIF_SURROGATE == LIF_TRIANGLE
  const float w = 1.0f - n.slope * lif_absolute(u);
  return w < 0.0f ? 0.0f : w;
#elif LIF_SURROGATE == LIF_RECTANGLE
  return lif_absolute(u) < 0.5f / n.slope ? n.slope : 0.0f;
#elif LIF_SURROGATE == LIF_EXPONENTIAL
  return n.slope / 2.0f * lif_exp_negative(-n.slope * lif_absolute(u));
#else
  return 1.0f;
#endif
}

// rho = dp/dv of v[t], its spike and sigma'
LIF_FUNCTION float lif_reset_slope(const LifNeuron& n, float v, float s, float surrogate) {
#if LIF_RESET == LIF_HARD
#if LIF_DETACH
  return s > 0.0f ? 0.0f : 1.0f;
#else
  return (s > 0.0f ? 0.0f : 1.0f) - v * surrogate;
#endif
#elif LIF_RESET == LIF_HARD_STRAIGHT && !LIF_DETACH
  return 1.0f - v * surrogate;
#elif (LIF_RESET == LIF_SOFT || LIF_RESET == LIF_SOFT_UNDECAYED) && !LIF_DETACH
  return 1.0f - n.subtracted * surrogate;
#else
  return 1.0f;
#endif
}

// e[t] of v[t], the upstream gradients and gp[t]; the carry is gp[t-1] = decay * e[t]
LIF_FUNCTION float lif_error(const LifNeuron& n, float v, float grad_spike, float grad_trace, float grad_after) {
  const float surrogate = lif_surrogate(n, v);
  return (grad_spike * surrogate + grad_trace) + grad_after * lif_reset_slope(n, v, lif_spike(n, v), surrogate);
}
