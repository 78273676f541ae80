// Forms of a language model for tuning: opened, judged on a text, and their steps measured. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "generate/step_line.h"
#include "tune/language/tuning.h"

namespace ridge::app {

// A form with its threads, ready for a load.
struct OpenedForm {
  std::unique_ptr<engine::Decoder> decoder;
  int64_t blocks = 0;  // reserved
  generate::StepLine line;
};

class LanguageForms {
 public:
  // `tokens`: most that a load keeps in the cache at once. `control` outlives it.
  LanguageForms(engine::DecoderPlan plan, int64_t tokens, double free_bytes, const RunControl& control)
      : plan_(std::move(plan)), tokens_(tokens), free_bytes_(free_bytes), control_(control) {}

  // The windows are cut from `text`. Errors: a short text, tokens beyond the vocabulary; the engine's.
  Status set_reference(const tune::language::Form& form, std::span<const int32_t> text, int64_t most_tokens,
                       int threads);
  double reference_perplexity() const { return reference_.perplexity; }

  // Only kCancelled ends it; all else is a rejection in `judged`, and `opened` has no decoder then.
  struct Judged {
    tune::language::JudgedForm judged;
    OpenedForm opened;
  };
  Result<Judged> judge(const tune::language::Form& form, int threads, const tune::language::Bounds& bounds);

  // Without judging.
  Result<OpenedForm> open(const tune::language::Form& form, int threads);

 private:
  Result<std::unique_ptr<engine::Decoder>> open_decoder(const tune::language::Form& form, int threads) const;
  Result<OpenedForm> prepare(std::unique_ptr<engine::Decoder> decoder) const;

  const engine::DecoderPlan plan_;
  const int64_t tokens_;
  const double free_bytes_;
  const RunControl& control_;
  tune::language::Windows windows_;
  tune::language::Reference reference_;
};

}  // namespace ridge::app
