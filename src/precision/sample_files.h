// Samples from the user's files: .npy, .npz and picture files in a folder.
//
//   one file           FILE.npy (a model with one input), FILE.npz (members named as the inputs), FILE.jpg, FILE.png
//   a folder           files of one kind, each with one sample or many rows
//   several inputs     .npz files, or one subfolder per input, with its name and equally many files, in order of name
//   recorded requests  the folder of one model written by `ridge serve --record` (or its parent, if it is the only one)
//
// An array is one sample or a stack of them along its first dimension: [rows, …] for an input of shape [1, …], also
// without the 1. Types are converted if only digits are lost (element.h: converted()).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "precision/image.h"

namespace ridge::precision {

using Sample = std::vector<Tensor>;  // one run's inputs, in the order of the model's

// An input as one run takes it, and the dimensions that may differ in other runs.
struct SampleInput {
  TensorSpec spec;  // -1 where a sample may be of any size
  Shape shape;      // of one run, complete
};

struct SampleFiles {
  std::vector<Sample> samples;
  std::string what;                // "32 pictures of DIR", "57 recorded requests of DIR/resnet50"
  std::vector<std::string> notes;  // conversions and omissions, in full sentences
};

// Reads at most `most` samples; the `seed` chooses among more files. Errors name the file, the problem, and a remedy.
Result<SampleFiles> read_sample_files(const std::string& path, const std::vector<SampleInput>& inputs,
                                      const ImageOptions& images, size_t most, uint64_t seed);

// Rows of an array for that input. Errors: a shape that fits neither one run nor a stack of them.
Result<std::vector<Tensor>> split_rows(Tensor array, const SampleInput& input, const std::string& what);

}  // namespace ridge::precision
