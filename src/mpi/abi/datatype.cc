#include "mpi/abi/datatype.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/abi/handle.h"

namespace alm::mpi {
namespace {

// MPI_Pack counts bytes in an int: elements are packed in portions below this.
constexpr std::int64_t kPortionBytes = 1 << 30;

constexpr int kTooLarge = MPI_ERR_COUNT;

// How many of each its constructor was given. By the form with large counts where the library has
// it: of types made by the _c constructors the other one fails, into the program's error handler.
struct Envelope {
  MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

bool get_envelope(const messages::MpiApi& api, MPI_Datatype type, Envelope& out) {
#if MPI_VERSION >= 4
  if (api.Type_get_envelope_c != nullptr) {
    return api.Type_get_envelope_c(type, &out.integers, &out.addresses, &out.large_counts,
                                   &out.types, &out.combiner) == MPI_SUCCESS;
  }
#endif
  int integers = 0, addresses = 0, types = 0;
  if (api.Type_get_envelope(type, &integers, &addresses, &types, &out.combiner) != MPI_SUCCESS) {
    return false;
  }
  out.integers = integers;
  out.addresses = addresses;
  out.types = types;
  return true;
}

// Both libraries pack into the bare bytes of the signature (no header, native byte order); whether
// one element comes out as it lies in memory is therefore seen by packing one. The constructors of
// the type alone do not tell: an indexed type may permute its bytes without leaving a gap.
//
// Each byte has to carry its place, or bytes that change places look alike. A place has several
// bytes, of which an element carries one at a time.
bool packs_to_itself(const Packing& packing, MPI_Datatype type, std::int64_t size) {
  constexpr int kBitsPerByte = 8;
  const auto bytes = static_cast<std::size_t>(size);
  const auto element = std::make_unique_for_overwrite<std::byte[]>(2 * bytes);
  std::byte* const packed = element.get() + bytes;
  for (int shift = 0; shift == 0 || (bytes - 1) >> shift != 0; shift += kBitsPerByte) {
    for (std::size_t i = 0; i < bytes; ++i) element[i] = static_cast<std::byte>(i >> shift);
    int position = 0;
    if (packing.api.Pack(element.get(), 1, type, packed, static_cast<int>(size), &position,
                         packing.comm) != MPI_SUCCESS) {
      return false;
    }
    if (position != size || std::memcmp(element.get(), packed, bytes) != 0) return false;
  }
  return true;
}

int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_nothing(MPI_Datatype, int, void*, void*) { return MPI_SUCCESS; }

// What the attribute of a type says about packing it: one of these addresses.
constexpr std::byte kToItself{}, kToOther{};

// How a type was made. The _c constructors take large counts in the place of integers, and of the
// addresses after them (MPI 4.0, section 5.1.13).
struct Constructor {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Count> addresses;
  std::vector<MPI_Datatype> types;
};

bool get_contents(const messages::MpiApi& api, MPI_Datatype type, const Envelope& envelope,
                  std::vector<int>& integers, std::vector<MPI_Aint>& addresses,
                  std::vector<MPI_Count>& large_counts, std::vector<MPI_Datatype>& types) {
#if MPI_VERSION >= 4
  if (api.Type_get_contents_c != nullptr) {
    return api.Type_get_contents_c(
               type, envelope.integers, envelope.addresses, envelope.large_counts, envelope.types,
               integers.data(), addresses.data(), large_counts.data(), types.data()) == MPI_SUCCESS;
  }
#endif
  return large_counts.empty() &&
         api.Type_get_contents(type, static_cast<int>(envelope.integers),
                               static_cast<int>(envelope.addresses),
                               static_cast<int>(envelope.types), integers.data(), addresses.data(),
                               types.data()) == MPI_SUCCESS;
}

bool take_apart(const messages::MpiApi& api, MPI_Datatype type, Constructor& made) {
  Envelope envelope;
  if (!get_envelope(api, type, envelope)) return false;
  made.combiner = envelope.combiner;
  if (made.combiner == MPI_COMBINER_NAMED) return true;
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
  std::vector<MPI_Count> large_counts(static_cast<std::size_t>(envelope.large_counts));
  made.types.resize(static_cast<std::size_t>(envelope.types));
  if (!get_contents(api, type, envelope, integers, addresses, large_counts, made.types)) {
    return false;
  }
  if (large_counts.empty()) {
    made.counts.assign(integers.begin(), integers.end());
    made.addresses.assign(addresses.begin(), addresses.end());
    return true;
  }
  made.counts = std::move(large_counts);
  if (made.combiner == MPI_COMBINER_STRUCT) {  // count, lengths of the blocks, their places
    const auto places = made.counts.end() - static_cast<std::ptrdiff_t>(made.types.size());
    made.addresses.assign(places, made.counts.end());
  }
  return true;
}

// The bytes of an element in order, from its address on, without a gap: by its constructors alone,
// for types too large to be packed. False where those are not looked into.
bool is_dense(const messages::MpiApi& api, MPI_Datatype type) {
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  if (api.Type_size_x(type, &size) != MPI_SUCCESS ||
      api.Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS || lower != 0 || extent != size) {
    return false;
  }
  Constructor made;
  if (!take_apart(api, type, made)) return false;
  if (made.combiner == MPI_COMBINER_NAMED) return true;
  bool dense = true;
  MPI_Count end = 0;  // of the blocks of a struct so far
  for (std::size_t i = 0; i < made.types.size(); ++i) {
    MPI_Datatype part = made.types[i];
    dense = dense && is_dense(api, part);
    if (made.combiner == MPI_COMBINER_STRUCT) {
      MPI_Count part_size = 0;
      dense = dense && made.addresses[i] == end;
      dense = dense && api.Type_size_x(part, &part_size) == MPI_SUCCESS;
      end += made.counts[i + 1] * part_size;
    }
    if (!is_named(api, part)) api.Type_free(&part);
  }
  switch (made.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_RESIZED:
      return dense;
    case MPI_COMBINER_VECTOR:  // count, length of a block, stride
      return dense && (made.counts[0] == 1 || made.counts[1] == made.counts[2]);
    default:
      return false;
  }
}

bool look_into(const Packing& packing, const job::TypedBuffer& buffer) {
  const auto type = from_opaque<MPI_Datatype>(buffer.type);
  return buffer.size > kPortionBytes ? is_dense(packing.api, type)
                                     : packs_to_itself(packing, type, buffer.size);
}

// Calls step(element pointer, elements, stream offset) for portions of every rank's block.
template <class Step>
int for_portions(const job::TypedBuffer& buffer, std::uint32_t ranks, Step step) {
  if (buffer.size > kPortionBytes) return kTooLarge;
  const std::int64_t portion = std::max<std::int64_t>(1, kPortionBytes / buffer.size);
  auto* base = static_cast<std::byte*>(buffer.base);
  const std::int64_t total = buffer.count * static_cast<std::int64_t>(ranks);
  for (std::int64_t first = 0; first < total; first += portion) {
    const std::int64_t elements = std::min(portion, total - first);
    const int code = step(base + first * buffer.extent, static_cast<int>(elements),
                          static_cast<std::size_t>(first * buffer.size));
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

// The same bytes from elsewhere, as one element: MPICH 4.0 packs from no null pointer, though
// MPI_BOTTOM is one.
class Grounded {
 public:
  Grounded(const Packing& packing, const job::TypedBuffer& buffer, std::uint32_t ranks)
      : api_(packing.api), type_(packing.api.datatype_null), buffer_(buffer), ranks_(ranks) {
    const std::int64_t elements = buffer.count * static_cast<std::int64_t>(ranks);
    if (buffer.base != nullptr || elements * buffer.size > kPortionBytes) return;
    const auto length = static_cast<int>(elements);
    const MPI_Aint at = -kAway;
    const auto type = from_opaque<MPI_Datatype>(buffer.type);
    if (api_.Type_create_hindexed(1, &length, &at, type, &type_) != MPI_SUCCESS) return;
    api_.Type_commit(&type_);
    buffer_ = {reinterpret_cast<void*>(kAway), 1, to_opaque(type_), elements * buffer.size, 0};
    ranks_ = 1;
  }
  ~Grounded() {
    if (type_ != api_.datatype_null) api_.Type_free(&type_);
  }
  Grounded(const Grounded&) = delete;
  Grounded& operator=(const Grounded&) = delete;

  const job::TypedBuffer& buffer() const { return buffer_; }
  std::uint32_t ranks() const { return ranks_; }

 private:
  static constexpr MPI_Aint kAway = 4096;

  const messages::MpiApi& api_;
  MPI_Datatype type_;
  job::TypedBuffer buffer_;
  std::uint32_t ranks_;
};

}  // namespace

bool is_named(const messages::MpiApi& api, MPI_Datatype type) {
  Envelope envelope;
  return get_envelope(api, type, envelope) && envelope.combiner == MPI_COMBINER_NAMED;
}

int make_type_keyval(const messages::MpiApi& api) {
  int keyval = MPI_KEYVAL_INVALID;
  return api.Type_create_keyval(copy_nothing, delete_nothing, &keyval, nullptr) == MPI_SUCCESS
             ? keyval
             : MPI_KEYVAL_INVALID;
}

bool is_usable(const Packing& packing, MPI_Datatype type) {
  if (is_named(packing.api, type)) return true;
  std::byte nothing{};
  int position = 0;
  return packing.api.Pack(&nothing, 0, type, &nothing, 1, &position, packing.comm) == MPI_SUCCESS;
}

int describe(const messages::MpiApi& api, const void* base, std::int64_t count, MPI_Datatype type,
             job::TypedBuffer& buffer) {
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  if (const int code = api.Type_size_x(type, &size); code != MPI_SUCCESS) return code;
  if (const int code = api.Type_get_extent_x(type, &lower, &extent); code != MPI_SUCCESS) {
    return code;
  }
  buffer = {const_cast<void*>(base), count, to_opaque(type), size, extent};
  return MPI_SUCCESS;
}

bool is_contiguous(const Packing& packing, const job::TypedBuffer& buffer) {
  const auto type = from_opaque<MPI_Datatype>(buffer.type);
  MPI_Count true_lower = 0;
  MPI_Count true_extent = 0;
  if (buffer.size != buffer.extent) return false;
  if (packing.api.Type_get_true_extent_x(type, &true_lower, &true_extent) != MPI_SUCCESS)
    return false;
  if (true_lower != 0 || true_extent != buffer.size) return false;
  if (is_named(packing.api, type)) return true;
  if (packing.known == MPI_KEYVAL_INVALID) return look_into(packing, buffer);
  void* known = nullptr;
  int found = 0;
  if (packing.api.Type_get_attr(type, packing.known, &known, &found) == MPI_SUCCESS && found != 0) {
    return known == &kToItself;
  }
  const bool to_itself = look_into(packing, buffer);
  packing.api.Type_set_attr(type, packing.known,
                            const_cast<std::byte*>(to_itself ? &kToItself : &kToOther));
  return to_itself;
}

bool hold_type(const Packing& packing, job::TypedBuffer& buffer) {
  const auto type = from_opaque<MPI_Datatype>(buffer.type);
  auto held = packing.api.datatype_null;
  if (is_named(packing.api, type)) return false;
  if (packing.api.Type_contiguous(1, type, &held) != MPI_SUCCESS) return false;
  packing.api.Type_commit(&held);
  buffer.type = to_opaque(held);
  return true;
}

int pack(const Packing& packing, const job::TypedBuffer& given, std::uint32_t given_ranks,
         std::byte* out) {
  const Grounded grounded(packing, given, given_ranks);
  const job::TypedBuffer& buffer = grounded.buffer();
  const auto type = from_opaque<MPI_Datatype>(buffer.type);
  return for_portions(
      buffer, grounded.ranks(), [&](std::byte* from, int elements, std::size_t offset) -> int {
        const auto bytes = static_cast<int>(elements * buffer.size);
        int position = 0;
        const int code =
            packing.api.Pack(from, elements, type, out + offset, bytes, &position, packing.comm);
        if (code != MPI_SUCCESS) return code;
        return position == bytes ? MPI_SUCCESS : MPI_ERR_INTERN;
      });
}

int unpack(const Packing& packing, const std::byte* in, std::uint32_t given_ranks,
           const job::TypedBuffer& given) {
  const Grounded grounded(packing, given, given_ranks);
  const job::TypedBuffer& buffer = grounded.buffer();
  const auto type = from_opaque<MPI_Datatype>(buffer.type);
  return for_portions(
      buffer, grounded.ranks(), [&](std::byte* to, int elements, std::size_t offset) {
        const auto bytes = static_cast<int>(elements * buffer.size);
        int position = 0;
        return packing.api.Unpack(in + offset, bytes, &position, to, elements, type, packing.comm);
      });
}

}  // namespace alm::mpi
