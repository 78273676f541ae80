#include "cli/accuracy_options.h"

#include <CLI/CLI.hpp>

#include "cli/number_checks.h"

namespace ridge::cli {
namespace {

Error alone(const char* option, const char* without) {
  return {Code::kInvalid, std::string(option) + " decides nothing without " + without};
}

}  // namespace

void declare_accuracy(CLI::App& app, AccuracyOptions& options) {
  app.add_option("--calibration", options.calibration);
  app.add_option("--calibration-samples", options.samples)->check(in_range(1, 100000));
  app.add_option("--held-out", options.held_out)->check(in_range(1, 100000));
  app.add_option("--seed", options.seed);
  app.add_option("--image-size", options.image_size);
  app.add_option("--image-mean", options.image_mean);
  app.add_option("--image-std", options.image_std);
  app.add_option("--image-layout", options.image_layout)->check(CLI::IsMember({"nchw", "nhwc"}));
  app.add_option("--image-fit", options.image_fit)->check(CLI::IsMember({"crop", "stretch"}));
  app.add_option("--max-drift", options.max_deviation)->check(positive());
  app.add_option("--min-cosine", options.min_cosine)->check(in_range(-1, 1));
  app.add_option("--min-top1", options.min_top1)->check(in_range(0, 1));
  app.add_option("--eval", options.eval);
  app.add_option("--eval-min", options.eval_min);
  app.add_option("--eval-drop", options.eval_drop)->check(not_negative());
  app.add_option("--eval-seconds", options.eval_seconds)->check(positive());
}

Result<precision::SampleOptions> sample_options(const AccuracyOptions& options) {
  precision::SampleOptions samples;
  samples.path = options.calibration;
  samples.calibration = static_cast<size_t>(options.samples);
  samples.held_out = static_cast<size_t>(options.held_out);
  samples.seed = options.seed;
  precision::ImageOptions& images = samples.images;
  if (!options.image_size.empty()) RIDGE_TRY(precision::parse_image_size(options.image_size, images));
  if (!options.image_mean.empty()) {
    RIDGE_ASSIGN(images.mean, precision::parse_channel_values(options.image_mean));
  }
  if (!options.image_std.empty()) {
    RIDGE_ASSIGN(images.deviation, precision::parse_channel_values(options.image_std));
  }
  if (options.image_layout == "nchw") images.layout = precision::ImageLayout::kChannelsFirst;
  if (options.image_layout == "nhwc") images.layout = precision::ImageLayout::kChannelsLast;
  if (options.image_fit == "stretch") images.fit = precision::ImageFit::kStretch;
  return samples;
}

Result<precision::GuardLimits> guard_limits(const AccuracyOptions& options) {
  precision::GuardLimits limits;
  if (options.max_deviation && (options.min_cosine || options.min_top1))
    return Error{Code::kInvalid, "--max-drift replaces --min-cosine and --min-top1: give one or the others"};
  limits.max_deviation = options.max_deviation;
  limits.cosine = options.min_cosine.value_or(limits.cosine);
  limits.top1_agreement = options.min_top1.value_or(limits.top1_agreement);
  return limits;
}

Result<std::optional<precision::EvaluationOptions>> evaluation_options(const AccuracyOptions& options) {
  if (options.eval.empty()) {
    if (options.eval_min) return alone("--eval-min", "--eval");
    if (options.eval_drop) return alone("--eval-drop", "--eval");
    return std::optional<precision::EvaluationOptions>();
  }
  RIDGE_TRY(precision::split_command(options.eval));
  precision::EvaluationOptions evaluation;
  evaluation.command = options.eval;
  evaluation.least = options.eval_min;
  evaluation.drop = options.eval_drop;
  evaluation.seconds = options.eval_seconds;
  return std::optional(evaluation);
}

}  // namespace ridge::cli
