// Time of one kernel of a language model on one GPU, by its law, beside its physical bound. Pure.
//
// Formulas (P dense rate [FLOP/s], W memory bandwidth [bytes/s], SM multiprocessors; (x, y)_q = (x^q + y^q)^(1/q)):
//   gemm      t0 + (F/(P·c·u)·(1 + k_ramp/k), B/(W·e) + extra)_q;  F = 2·m·n·k, B = n·k·weight + m·k·activation + 2·m·n
//             u: share of the multiprocessors' tiles that is filled, the best of four tile sizes
//   experts   t0 + ep + us_per_100_experts·E/100 + (F·skew/(P·c·u), B/(W·e))_q;  E experts touched, rows padded to
//             tiles; ep and skew only with expert parallelism; each engine has kernels of its own
//   decode    t0 + B/(W·e) + ramp·min(1, √(B/SM/65536))
//   prefill   t0 + F·(1 + length_ramp/tokens)/(P·c) + B/2/(0.8·W)
//   latent decode: the larger of the bytes at its efficiency and 2·heads·(2·rank + rope) FLOP per cached token at its
//                  share of the peak
// Parameters: data/kernel_laws.csv, fitted to NVIDIA's published measurements (aiconfigurator-core 0.12.0, Apache-2.0).
#pragma once

#include "llm/gpu.h"
#include "llm/model.h"

namespace ridge::llm {

struct KernelTime {
  double seconds = 0;
  double bound_seconds = 0;  // max(FLOPs / peak, bytes / bandwidth)
  bool compute_bound = false;
  double error_percent = 0;  // median, of the law; 0: assumed, not fitted
  bool own = false;          // the law of this GPU, else of others
};

// C[m, n] = A[m, k] · B[n, k].
KernelTime gemm(const Gpu& gpu, WeightFormat format, double m, double n, double k);

// Gate, up, activation and down of the routed experts with permutation, on one of tensor · expert parallel GPUs.
struct ExpertWork {
  double hidden = 0, intermediate = 0, experts = 0, per_token = 0;
  double tensor_parallel = 1, expert_parallel = 1;
  double tokens = 0;
  bool gated = true;
};
// `engine`: "vllm", …, whose kernels they are.
KernelTime experts(const Gpu& gpu, WeightFormat format, const ExpertWork& work, std::string_view engine);

// One new token for each of `sequences`, which hold `cached` tokens together; heads are those of this GPU.
struct DecodeWork {
  Attention attention;
  double heads = 0, kv_heads = 0;
  double sequences = 0, cached = 0;
  double cache_bits = 16;
  double new_tokens = 1;  // per sequence: more are verified in speculative decoding
};
KernelTime decode_attention(const Gpu& gpu, const DecodeWork& work);

// `tokens` new ones of a sequence that holds `cached` before them.
struct PrefillWork {
  Attention attention;
  double heads = 0, kv_heads = 0;
  double tokens = 0, cached = 0;
};
KernelTime prefill_attention(const Gpu& gpu, const PrefillWork& work);

// Among `gpus` GPUs of `bytes` each; over the network where the link does not join them all.
KernelTime all_reduce(const Gpu& gpu, double gpus, double bytes);

// Bytes read and written by kernels that only move them: norms, activations, rotary embedding.
KernelTime elementwise(const Gpu& gpu, double bytes);

}  // namespace ridge::llm
