#include "app/language_forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "serve/cache_size.h"
#include "serve/step_measurement.h"

namespace ridge::app {
namespace {

using tune::language::Form;

constexpr int64_t kWindow = 128;       // tokens of a window of the text
constexpr int64_t kFewestBlocks = 64;  // for the steps that the line is measured by
constexpr std::chrono::milliseconds kLineTime{300};
constexpr int kLinePasses = 3;  // a step's time is the least of them: other work on the machine only adds to it

// Blocks for the load, but no more than `ridge serve` reserves.
Result<int64_t> blocks_for(const engine::DecoderInfo& info, int64_t tokens, double free_bytes) {
  RIDGE_ASSIGN(const int64_t served, serve::cache_blocks({.shape = info.cache,
                                                          .context = info.context,
                                                          .most_sequences = generate::Settings{}.most_sequences,
                                                          .free_bytes = static_cast<uint64_t>(free_bytes),
                                                          .weight_bytes = info.weight_bytes}));
  return std::min(std::max(info.cache.blocks_for(tokens), kFewestBlocks), served);
}

}  // namespace

Result<std::unique_ptr<engine::Decoder>> LanguageForms::open_decoder(const Form& form, int threads) const {
  engine::DecoderPlan plan = plan_;
  plan.engine = form.engine;
  plan.weights = form.weights;
  plan.cache = form.cache;
  plan.threads = threads;
  return engine::open_decoder(plan, *control_.clock);
}

Status LanguageForms::set_reference(const Form& form, std::span<const int32_t> text, int64_t most_tokens, int threads) {
  Result<std::unique_ptr<engine::Decoder>> decoder = open_decoder(form, threads);
  if (!decoder) return wrap(decoder.error(), "open the reference, " + describe(form));
  const engine::DecoderInfo& info = (*decoder)->info();
  if (const auto wrong = std::ranges::find_if(text, [&](int32_t token) { return token >= info.vocabulary; });
      wrong != text.end())
    return Error{Code::kFailed,
                 fmt::format("tokenizer.json has token {}, the model a vocabulary of {}", *wrong, info.vocabulary)};
  windows_ = tune::language::windows_of(text, most_tokens, std::min(kWindow, info.context));
  if (windows_.empty())
    return invalid(
        fmt::format("the text has {} tokens; at least 2 are needed to compare forms of the model", text.size()));
  RIDGE_ASSIGN(reference_, tune::language::reference_of(**decoder, windows_, control_.interrupted));
  return {};
}

Result<OpenedForm> LanguageForms::prepare(std::unique_ptr<engine::Decoder> decoder) const {
  OpenedForm opened;
  RIDGE_ASSIGN(opened.blocks, blocks_for(decoder->info(), tokens_, free_bytes_));
  RIDGE_TRY(decoder->reserve(opened.blocks));
  std::vector<generate::StepPoint> points;
  for (int pass = 0; pass < kLinePasses; ++pass) {
    RIDGE_ASSIGN(const std::vector<generate::StepPoint> now,
                 serve::measure_steps(*decoder, opened.blocks, kLineTime, *control_.clock));
    for (size_t i = 0; i < std::min(points.size(), now.size()); ++i)
      points[i].seconds = std::min(points[i].seconds, now[i].seconds);
    if (now.size() > points.size())
      points.insert(points.end(), now.begin() + static_cast<std::ptrdiff_t>(points.size()), now.end());
  }
  std::erase_if(points, [](const generate::StepPoint& point) { return point.seconds <= 0; });
  constexpr size_t kFewest = 4;  // as generate::fit() needs
  if (points.size() < kFewest) return Error{Code::kFailed, "its steps are too short for the clock"};
  opened.line = generate::fit(points);
  opened.decoder = std::move(decoder);
  return opened;
}

Result<OpenedForm> LanguageForms::open(const Form& form, int threads) {
  RIDGE_ASSIGN(std::unique_ptr<engine::Decoder> decoder, open_decoder(form, threads));
  return prepare(std::move(decoder));
}

Result<LanguageForms::Judged> LanguageForms::judge(const Form& form, int threads,
                                                   const tune::language::Bounds& bounds) {
  Judged result;
  tune::language::JudgedForm& judged = result.judged;
  judged.form = form;
  const auto rejected = [&](const char* id, const std::string& reason) {
    judged.id = id;
    judged.reason = reason;
    return std::move(result);
  };
  Result<std::unique_ptr<engine::Decoder>> decoder = open_decoder(form, threads);
  if (!decoder) return rejected("not-opened", decoder.error().message);
  judged.load_ms = to_ms((*decoder)->info().engine.load_time);
  judged.weight_bytes = (*decoder)->info().weight_bytes;
  Result<tune::language::Deviation> deviation =
      tune::language::deviation_of(**decoder, windows_, reference_, control_.interrupted);
  if (!deviation && deviation.error().code == Code::kCancelled) return deviation.error();
  if (!deviation) return rejected("not-run", deviation.error().message);
  judged.deviation = *deviation;
  if (const std::string why = tune::language::judge(*deviation, bounds); !why.empty()) return rejected("deviates", why);
  Result<OpenedForm> opened = prepare(std::move(*decoder));
  if (!opened) return rejected("not-run", opened.error().message);
  result.opened = std::move(*opened);
  return result;
}

}  // namespace ridge::app
