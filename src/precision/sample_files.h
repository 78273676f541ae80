// Samples from the user's files: .npy, .npz and picture files, as they lie in a folder.
//
//   one file           FILE.npy (a model with one input), FILE.npz (members named as the inputs), FILE.jpg, FILE.png
//   a folder           files of one kind, each with one sample or many rows
//   several inputs     .npz files, or one subfolder per input, named as it, with equally many files, taken in order of name
//   recorded requests  the folder of one model that `ridge serve --record` wrote (or the one above, if it is alone there)
//
// An array is one sample or a stack of them along its first dimension: [rows, …] for an input of shape [1, …], also
// without the 1. Types are converted where no value is lost but digits (element.h: converted()).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "precision/image.h"

namespace ridge::precision {

using Sample = std::vector<Tensor>;  // one run's inputs, in the order of the model's

// An input as one run takes it, and which of its dimensions other runs may have otherwise.
struct SampleInput {
  TensorSpec spec;  // -1 where a sample may be of any size
  Shape shape;      // of one run, complete
};

struct SampleFiles {
  std::vector<Sample> samples;
  std::string what;                // "32 pictures of DIR", "57 recorded requests of DIR/resnet50"
  std::vector<std::string> notes;  // what was done to them or left out, in whole sentences
};

// At most `most` samples; of more files the `seed` chooses. Errors name the file, what is wrong with it, and what would do.
Result<SampleFiles> read_sample_files(const std::string& path, const std::vector<SampleInput>& inputs,
                                      const ImageOptions& images, size_t most, uint64_t seed);

// Rows of an array for that input. Errors: a shape that fits neither one run nor a stack of them.
Result<std::vector<Tensor>> split_rows(Tensor array, const SampleInput& input, const std::string& what);

}  // namespace ridge::precision
