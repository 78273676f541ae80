// Runs a newly opened session before it serves, so that no client pays for first-time work: once per batch size, and
// the configuration's own model_warmup samples.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "serve/batch_runner.h"
#include "serve/model_settings.h"

namespace ridge::serve {

// The batch sizes worth running: all of them up to 16; above, powers of two, the preferred sizes and the largest.
std::vector<int64_t> warmup_batches(int64_t max_batch_size, const std::vector<int64_t>& preferred);

// [bytes] of inputs and outputs of the largest batch, open dimensions taken as 1; the largest number if larger.
uint64_t largest_batch_bytes(const ModelSettings& settings);

// The inputs' shapes as in the first sample that provides every input, any number of rows first; else none.
std::map<std::string, Shape> shapes_of_sample(const ModelSettings& settings);

// Every such size with the values of the first sample that provides every input, else with zeros (open dimensions are
// 1: a guess, so that a failure of these runs is only logged); then the samples, whose failure is an error. Returns the
// warm sizes, rising; empty: one failed, or they are off. kCancelled: `stop` came between two runs.
Result<std::vector<int64_t>> warm_up(const ModelSettings& settings, BatchRunner& runner,
                                     const std::stop_token& stop = {});

}  // namespace ridge::serve
