//! Constants of an object, found in its `.rodata` by the object's own type information (BTF).

use super::log;
use crate::LiveError;
use libbpf_rs::AsRawLibbpf as _;
use libbpf_rs::btf::types::{Array, DataSec, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, ReferencesType as _, TypeId};
use libbpf_rs::{MapType, OpenObject};
use std::sync::OnceLock;

/// The place of a variable in its section.
struct Place {
    offset: usize,
    size: usize,
}

fn failed(name: &str, reason: &str) -> LiveError {
    LiveError::failed(format!("set the constant \"{name}\" of an eBPF object"), reason)
}

fn place(object: &OpenObject, name: &str) -> Result<Place, LiveError> {
    // SAFETY: the object is alive and borrowed for as long as the BTF that is read from it.
    let raw = unsafe { object.as_libbpf_object().as_ref() };
    let btf = Btf::from_bpf_object(raw)
        .map_err(|error| failed(name, &error.to_string()))?
        .ok_or_else(|| failed(name, "the object has no type information (BTF)"))?;
    let section: DataSec<'_> =
        btf.type_by_name(".rodata").ok_or_else(|| failed(name, "the object has no section .rodata"))?;
    let is_it = |id: TypeId| {
        let var: Option<Var<'_>> = btf.type_by_id(id);
        var.is_some_and(|var| var.name().is_some_and(|own| own == name))
    };
    let found = section.iter().find(|item| is_it(item.ty));
    found
        .map(|item| Place { offset: item.offset as usize, size: item.size })
        .ok_or_else(|| failed(name, "the object has no such constant"))
}

/// Whether the object has a constant `name`.
pub(super) fn has(object: &OpenObject, name: &str) -> bool {
    place(object, name).is_ok()
}

/// Writes `bytes` over the constant `name`.
fn write(object: &mut OpenObject, name: &str, bytes: &[u8]) -> Result<(), LiveError> {
    let Place { offset, size } = place(object, name)?;
    if size != bytes.len() {
        return Err(failed(name, &format!("it has {size} bytes, the value {}", bytes.len())));
    }
    // The map of a section is named by the object and the section: "agile_sd.rodata".
    let mut maps = object.maps_mut();
    let map =
        maps.find(|map| map.map_type() != MapType::StructOps && map.name().to_string_lossy().ends_with(".rodata"));
    let mut map = map.ok_or_else(|| failed(name, "the object has no map for .rodata"))?;
    let section = map.initial_value_mut().ok_or_else(|| failed(name, ".rodata has no content"))?;
    let target = section.get_mut(offset..offset + size).ok_or_else(|| failed(name, "it lies outside its section"))?;
    target.copy_from_slice(bytes);
    Ok(())
}

/// Sets the whole number `name` of 1, 2, 4 or 8 bytes.
///
/// # Errors
/// [`LiveError::Failed`] if there is no such constant or the value does not fit into it.
pub(super) fn set_number(object: &mut OpenObject, name: &str, value: u64) -> Result<(), LiveError> {
    let Place { size, .. } = place(object, name)?;
    let too_big = || failed(name, &format!("{value} does not fit into its {size} bytes"));
    let bytes = match size {
        1 => u8::try_from(value).map_err(|_| too_big())?.to_ne_bytes().to_vec(),
        2 => u16::try_from(value).map_err(|_| too_big())?.to_ne_bytes().to_vec(),
        4 => u32::try_from(value).map_err(|_| too_big())?.to_ne_bytes().to_vec(),
        8 => value.to_ne_bytes().to_vec(),
        _ => return Err(failed(name, &format!("it has {size} bytes and is no whole number"))),
    };
    write(object, name, &bytes)
}

/// Sets the array or structure `name` byte by byte, in native order; the sizes must be equal.
///
/// # Errors
/// [`LiveError::Failed`] if there is no such constant, or its size differs.
pub(super) fn set_bytes(object: &mut OpenObject, name: &str, bytes: &[u8]) -> Result<(), LiveError> {
    write(object, name, bytes)
}

/// Writes the name under which sockets find the struct_ops map `map`: the member `name` of its structure.
///
/// # Errors
/// [`LiveError::Failed`] if there is no such map, or if the name does not fit.
pub(super) fn set_registered_name(object: &mut OpenObject, map: &str, name: &str) -> Result<(), LiveError> {
    let what = || format!("name the congestion control \"{name}\"");
    let (offset, size) = member(object, map, "name")
        .filter(|&(_, size)| size > 0)
        .ok_or_else(|| LiveError::failed(what(), format!("the object's structure \"{map}\" has no member \"name\"")))?;
    // The kernel requires a zero byte at the end.
    if name.is_empty() || name.len() >= size {
        return Err(LiveError::failed(what(), format!("it has {} bytes; allowed: 1 to {}", name.len(), size - 1)));
    }
    let mut maps = object.maps_mut();
    let mut found = maps
        .find(|item| item.map_type() == MapType::StructOps && item.name() == map)
        .ok_or_else(|| LiveError::failed(what(), format!("the object has no struct_ops \"{map}\"")))?;
    let target = found.initial_value_mut().and_then(|value| value.get_mut(offset..offset + size));
    let target = target.ok_or_else(|| LiveError::failed(what(), "the structure is shorter than its type"))?;
    target.fill(0);
    target[..name.len()].copy_from_slice(name.as_bytes());
    Ok(())
}

/// Takes those of [`NEWER_HOOKS`] that this kernel lacks out of the structures of congestion controls. libbpf then
/// leaves their programs out.
///
/// # Errors
/// [`LiveError::Failed`] if a structure is shorter than its type.
pub(super) fn leave_out_missing_hooks(object: &mut OpenObject) -> Result<(), LiveError> {
    for hook in NEWER_HOOKS {
        let controls = object.maps().filter(|map| map.map_type() == MapType::StructOps);
        let names: Vec<String> = controls.map(|map| map.name().to_string_lossy().into_owned()).collect();
        let found = names.iter().filter_map(|name| Some((name, member(object, name, hook)?.0)));
        let places: Vec<(&String, usize)> = found.collect();
        if places.is_empty() || kernel_has(hook) {
            continue;
        }
        for (name, offset) in places {
            let failed = || LiveError::failed(format!("leave out the hook \"{hook}\""), "the structure is too short");
            let mut maps = object.maps_mut();
            let mut map = maps.find(|map| map.name() == name.as_str()).ok_or_else(failed)?;
            let value = map.initial_value_mut().and_then(|value| value.get_mut(offset..offset + size_of::<usize>()));
            value.ok_or_else(failed)?.fill(0);
        }
    }
    Ok(())
}

/// Members of `struct tcp_congestion_ops` that only newer kernels have.
const NEWER_HOOKS: [&str; 1] = ["cwnd_event_tx_start"];

/// Whether the running kernel's `struct tcp_congestion_ops` has this member, or the kernel has no type information.
fn kernel_has(hook: &str) -> bool {
    static MEMBERS: OnceLock<Option<Vec<String>>> = OnceLock::new();
    let read = || {
        let types = log::quiet(Btf::from_vmlinux).0.ok()?;
        let structure: Struct<'_> = types.type_by_name("tcp_congestion_ops")?;
        Some(structure.iter().filter_map(|member| Some(member.name?.to_string_lossy().into_owned())).collect())
    };
    MEMBERS.get_or_init(read).as_ref().is_none_or(|members| members.iter().any(|member| member == hook))
}

/// Offset of a member of the structure variable `map`, in bytes, and its number of elements: 0 if it is no array.
fn member(object: &OpenObject, map: &str, wanted: &str) -> Option<(usize, usize)> {
    // SAFETY: the object is alive and borrowed for as long as the BTF that is read from it.
    let raw = unsafe { object.as_libbpf_object().as_ref() };
    let btf = Btf::from_bpf_object(raw).ok()??;
    let var: Var<'_> = btf.type_by_kind::<Var<'_>>().find(|var| var.name().is_some_and(|own| own == map))?;
    let structure: Struct<'_> = var.referenced_type().skip_mods_and_typedefs().try_into().ok()?;
    let member = structure.iter().find(|member| member.name.is_some_and(|own| own == wanted))?;
    let MemberAttr::Normal { offset: bits } = member.attr else { return None };
    let elements = btf.type_by_id::<Array<'_>>(member.ty).map_or(0, |array| array.capacity());
    Some((bits as usize / 8, elements))
}
