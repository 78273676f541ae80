// The precision passes as a command, for quantiser_vs_onnxruntime.py:
//
//   precision_pass tensors MODEL                      tensors that static quantisation needs ranges of, one a line
//   precision_pass expose MODEL OUT < NAMES           the model with these tensors as outputs
//   precision_pass static MODEL OUT [OPTION]... < RANGES   RANGES: lines "minimum maximum name"
//   precision_pass dynamic MODEL OUT
//   precision_pass weights MODEL OUT BITS BLOCK [OPTION]...
//   precision_pass convert MODEL OUT fp16|bf16 [--weights-only]
//
// Options: --symmetric --per-tensor --reduce-range --products --dequantize --keep=NODE
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "model/reader.h"
#include "precision/convert.h"
#include "precision/quantise.h"

namespace {

using ridge::Result;
using ridge::Status;
using ridge::precision::PassReport;
using ridge::precision::QuantiseOptions;

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "precision_pass: %s\n", message.c_str());
  std::exit(3);
}

QuantiseOptions options_from(const std::vector<std::string>& words) {
  QuantiseOptions options;
  for (const std::string& word : words) {
    if (word == "--symmetric") options.symmetric_activations = true;
    if (word == "--per-tensor") options.per_channel = false;
    if (word == "--reduce-range") options.reduce_range = true;
    if (word == "--products") options.activation_products = true;
    if (word == "--dequantize") options.weight_nodes = ridge::precision::WeightNodes::kDequantize;
    if (word.rfind("--keep=", 0) == 0) options.keep_nodes.insert(word.substr(7));
  }
  return options;
}

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
}

ridge::precision::TensorRanges ranges_of_input() {
  ridge::precision::TensorRanges ranges;
  double minimum = 0;
  double maximum = 0;
  for (std::string name; std::cin >> minimum >> maximum && std::getline(std::cin >> std::ws, name);)
    ranges[name] = {minimum, maximum};
  return ranges;
}

void print(const Result<PassReport>& report) {
  if (!report) stop(report.error().message);
  std::printf("%s: %d nodes changed, %d kept, %lld bytes\n", report->file.c_str(), report->changed_nodes,
              report->kept_nodes, static_cast<long long>(report->bytes));
  for (const std::string& note : report->notes) std::printf("%s\n", note.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() < 2) stop("what to do with which model?");
  const std::string& verb = words[0];
  const ridge::Result<ridge::model::WholeModel> read = ridge::model::UnboundModel::read_whole(words[1]);
  if (!read) stop(read.error().message);
  const ridge::model::WholeModel& model = *read;
  const QuantiseOptions options = options_from(words);
  if (verb == "tensors") {
    Result<std::vector<std::string>> tensors = ridge::precision::calibration_tensors(model, options);
    if (!tensors) stop(tensors.error().message);
    for (const std::string& tensor : *tensors) std::printf("%s\n", tensor.c_str());
    return 0;
  }
  if (words.size() < 3) stop("write to which file?");
  const std::string& out = words[2];
  if (verb == "expose") {
    const Status exposed = ridge::precision::expose_tensors(model, lines_of_input(), out);
    if (!exposed) stop(exposed.error().message);
  } else if (verb == "static") {
    print(ridge::precision::quantise_static(model, ranges_of_input(), options, out));
  } else if (verb == "dynamic") {
    print(ridge::precision::quantise_dynamic(model, options, out));
  } else if (verb == "weights" && words.size() > 4) {
    print(ridge::precision::quantise_weights(model, std::atoi(words[3].c_str()), std::atoi(words[4].c_str()), options,
                                             out));
  } else if (verb == "convert" && words.size() > 3) {
    const auto precision = words[3] == "fp16" ? ridge::Precision::kFp16 : ridge::Precision::kBf16;
    ridge::precision::ConvertOptions conversion;
    conversion.weights_only = words.back() == "--weights-only";
    print(ridge::precision::convert(model, precision, conversion, out));
  } else {
    stop("there is no '" + verb + "' with these arguments");
  }
  return 0;
}
