// Arithmetic of one step of the neuron with an adaptive threshold: formulas in adaptive.py, by the
// functions of lif_step.h, to be included before, at v[t] - a[t].

#pragma once

struct Adaptation {
  float jump, decay, share;  // a spike's addition to a, a's decay, and what a reset subtracts for each unit of a
};

// p[t] of v[t], s[t] and a[t]
LIF_FUNCTION float adaptive_reset(const LifNeuron& n, const Adaptation& c, float v, float s, float a) {
#if LIF_RESET == LIF_SOFT || LIF_RESET == LIF_SOFT_UNDECAYED
  return s > 0.0f ? v - (n.subtracted + c.share * a) : v;
#else
  return lif_reset(n, v, s);
#endif
}

// dp/ds
LIF_FUNCTION float adaptive_by_spike(const LifNeuron& n, const Adaptation& c, float v, float a) {
#if LIF_DETACH || LIF_RESET == LIF_NONE
  return 0.0f;
#elif LIF_RESET == LIF_HARD
  return -v;
#else
  return -(n.subtracted + c.share * a);
#endif
}

// e[t] of v[t], a[t], the upstream gradient and gp[t]; ga[t + 1] becomes ga[t]
LIF_FUNCTION float adaptive_error(const LifNeuron& n, const Adaptation& c, float v, float a, float grad_spike, float grad_after,
                                  float* grad_rise) {
  const float u = v - a, s = lif_spike(n, u);
  const float by_spike = (grad_spike + c.jump * *grad_rise) + grad_after * adaptive_by_spike(n, c, v, a);
  const float through_spike = by_spike * lif_surrogate(n, u);
  *grad_rise = (c.decay * *grad_rise - through_spike) - (s > 0.0f ? c.share * grad_after : 0.0f);
  return through_spike + (LIF_RESET == LIF_HARD ? (s > 0.0f ? 0.0f : grad_after) : grad_after);
}
