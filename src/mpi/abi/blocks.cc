#include "mpi/abi/blocks.h"

#include "mpi/abi/handle.h"

namespace alm::mpi {
namespace {

// Types come in runs: each is looked at once per run.
class TypeCache {
 public:
  explicit TypeCache(const Packing& packing) : packing_(packing) {}

  // Null: invalid.
  const job::TypedBuffer* find(MPI_Datatype type) {
    if (known_ && type == type_) return &buffer_;
    if (type == packing_.api.datatype_null || !is_usable(packing_, type)) return nullptr;
    if (describe(packing_.api, nullptr, 0, type, buffer_) != MPI_SUCCESS) return nullptr;
    type_ = type;
    known_ = true;
    return &buffer_;
  }

 private:
  const Packing& packing_;
  MPI_Datatype type_{};
  job::TypedBuffer buffer_;
  bool known_ = false;
};

}  // namespace

std::optional<std::vector<job::TypedBuffer>> describe_blocks(
    const Packing& packing, const entry::BlockArguments::Side& side, bool typed,
    std::size_t ranks) {
  // Where there are none, programs give what they like.
  if (ranks == 0) return std::vector<job::TypedBuffer>();
  if (side.counts.missing() || side.displacements.missing()) return std::nullopt;
  const auto* types = typed ? reinterpret_cast<const MPI_Datatype*>(side.types) : nullptr;
  TypeCache cache(packing);
  if (types == nullptr && cache.find(from_opaque<MPI_Datatype>(side.types)) == nullptr) {
    return std::nullopt;
  }
  std::vector<job::TypedBuffer> blocks(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = side.counts[rank];
    if (count < 0) return std::nullopt;
    if (count == 0) continue;
    const job::TypedBuffer* type =
        cache.find(types != nullptr ? types[rank] : from_opaque<MPI_Datatype>(side.types));
    if (type == nullptr) return std::nullopt;
    // In elements for v, in bytes for w. Addresses are reckoned as integers: the base may be
    // MPI_BOTTOM.
    const std::int64_t at = side.displacements[rank] * (types != nullptr ? 1 : type->extent);
    blocks[rank] = *type;
    blocks[rank].count = count;
    blocks[rank].base = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(side.base) +
                                                static_cast<std::uintptr_t>(at));
  }
  return blocks;
}

}  // namespace alm::mpi
