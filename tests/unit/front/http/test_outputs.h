// Outputs of models for tests of their answers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/service.h"

namespace ridge::front::http {

template <typename T>
serve::ResponseOutput output_with(std::string name, DataType type, Shape shape, std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  return {std::move(name), type, std::move(shape), std::as_bytes(std::span(*owner)), owner};
}

inline serve::ResponseOutput texts(std::string name, std::string_view block, Shape shape) {
  return output_with(std::move(name), DataType::kBytes, std::move(shape),
                     std::vector<char>(block.begin(), block.end()));
}

}  // namespace ridge::front::http
