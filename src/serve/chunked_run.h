// A run of many rows as several runs of fewer, for engines that prepare themselves for each number of rows when it
// first comes: only numbers that the warm-up has run are then ever asked of them. Rows of a batching model are
// independent, so the answers are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace ridge::serve {

// `rows` as numbers of `prepared` (rising, 1 first), largest first: 23 of {1, 2, 4, 8, 16} is 16, 4, 2, 1.
std::vector<int64_t> parts_of(int64_t rows, std::span<const int64_t> prepared);

// Session::run in those parts; the first dimension of every input is the rows. An output without memory gets its parts
// joined in memory of its own. A model with strings runs whole: rows have no common size. May throw std::bad_alloc.
Status run_in_parts(engine::Session& session, std::span<const int64_t> parts, std::span<const TensorView> inputs,
                    std::span<const int> wanted, std::span<engine::Output> outputs);

}  // namespace ridge::serve
