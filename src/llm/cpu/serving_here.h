// A language model served by `ridge serve` on a machine's CPUs, predicted from the line of its steps by the scheduler
// that serves it. Pure.
#pragma once

#include <string>

#include "base/figure.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "generate/step_line.h"
#include "llm/cpu/decoder_limit.h"
#include "llm/serving.h"

namespace ridge::llm::cpu {

// Served by this program on this machine's CPU, predicted by a simulation of its steps.
struct ServingHere {
  std::string engine;
  engine::WeightFormat weights = engine::WeightFormat::kBf16;
  engine::CacheForm cache = engine::CacheForm::kU8;
  int threads = 0;
  Workload workload;
  generate::StepLine line;
  std::string measured_at;   // of the line, by `bench FOLDER`; empty: it is estimated from the limits
  double error_percent = 0;  // of the line's steps: nine in ten keep within it
  Simulation simulation;
  double ttft_bound_ms = 0,
         tpot_bound_ms = 0;  // of a mean prompt alone, of a decode step of the mean batch; 0: not known
};
void visit_fields(auto& visit, Is<ServingHere> auto& here) {
  visit("engine", here.engine);
  visit("weights", here.weights);
  visit("cache", here.cache);
  visit("threads", here.threads);
  visit.object("workload", [&](auto& workload) {
    workload("prompt_min", here.workload.prompt_min);
    workload("prompt_max", here.workload.prompt_max);
    workload("output_min", here.workload.output_min);
    workload("output_max", here.workload.output_max);
    workload("concurrency", here.workload.concurrency);
    workload("requests_per_s", here.workload.requests_per_s);
  });
  visit("step_line", here.line, means("as of a decoder bench"));
  visit("measured_at", here.measured_at, means("of `ridge bench FOLDER`; empty: estimated from the limits"));
  visit("error_percent", here.error_percent,
        means("nine in ten steps keep within it; of an estimate, nine in ten times in requests of one model on one "
              "machine"));
  visit("ttft_ms", here.simulation.ttft_ms);
  visit("tpot_ms", here.simulation.tpot_ms);
  visit("output_tokens_per_s", here.simulation.output_tokens_per_s);
  visit("mean_decoding", here.simulation.mean_decoding, means("answers under way"));
  visit.or_null("ttft_bound_ms", here.ttft_bound_ms, means("of a mean prompt alone"));
  visit.or_null("tpot_bound_ms", here.tpot_bound_ms, means("of a decode step of the mean batch"));
}

// Simulates `load` on the line, and sets its mean times beside their limits. Errors: a request does not fit.
Status predict_serving(const llm::Load& load, const DecoderLimit& limit, ServingHere& here);

}  // namespace ridge::llm::cpu
