// How one replica of a model is laid over devices, and how many replicas there are.
#pragma once

namespace tokenroof {

/// Parallel degrees. A replica uses tensor x pipeline x attention_data devices where tensor is the
/// degree of ONE attention group; experts are spread over `expert` of the tensor x attention_data
/// ranks and each expert is cut over the rest. Context parallel reuses the ranks of a tensor group.
struct Deployment {
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  int expert_parallel = 1;          ///< 1: experts are cut like the dense layers
  int attention_data_parallel = 1;  ///< attention ranks that hold different sequences
  int context_parallel = 1;         ///< ranks of a tensor group that share one sequence's cache
  int replicas = 1;
  int devices_per_node = 8;

  /// Devices of one pipeline stage.
  [[nodiscard]] constexpr int stage_devices() const {
    return tensor_parallel * attention_data_parallel;
  }
  [[nodiscard]] constexpr int devices_per_replica() const {
    return stage_devices() * pipeline_parallel;
  }
  [[nodiscard]] constexpr int devices() const { return devices_per_replica() * replicas; }
};

}  // namespace tokenroof
