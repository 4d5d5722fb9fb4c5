//! Which block device a name means: one resolver for fstab, crypttab, the configuration, flags and findings.
//!
//! A device has many names: tags (`UUID=`, `PARTLABEL=`), its node, a mapping, a volume of LVM, links that udev made. Two
//! lines that name one device differently are the same line to the kernel, so whoever compares names has to ask here.

use super::storage::{BlockDevice, Transport};
use super::{Encryption, Facts};
use crate::escape;

impl Facts {
    /// The block device that a name means, as fstab(5), crypttab(5) and the configuration write it.
    #[must_use]
    pub fn device_named(&self, spec: &str) -> Option<&BlockDevice> {
        self.block_devices.iter().find(|device| device.is_named(spec))
    }

    /// True when a name is of a kind that these facts can look up, so that no device means that there is none.
    #[must_use]
    pub fn can_look_up(&self, spec: &str) -> bool {
        // Whether the links of udev are known: without them a name such as by-id cannot be told to be missing.
        let links = self.block_devices.iter().any(|device| !device.links.is_empty() || device.partuuid.is_some());
        let tag = tag(spec);
        match tag.as_ref().map(|(tag, _)| tag.as_str()) {
            Some("UUID" | "LABEL") => true,
            Some("PARTUUID" | "PARTLABEL" | "ID") => links,
            Some(_) => false,
            None => plain_path(spec).strip_prefix("/dev/").is_some_and(|name| {
                links || !name.contains('/') || name.starts_with("mapper/") || name.starts_with("disk/by-uuid/")
            }),
        }
    }
}

impl BlockDevice {
    /// Whether it has heads that move: a disk of a hypervisor says that it is rotational, and is not.
    #[must_use]
    pub fn spins(&self) -> bool {
        self.rotational.value().copied().unwrap_or(false) && self.transport != Transport::Virtual
    }

    /// True when this name means this device.
    #[must_use]
    pub fn is_named(&self, spec: &str) -> bool {
        match tag(spec) {
            Some((tag, value)) => self.has_tag(&tag, value),
            None => self.has_path(&plain_path(spec)),
        }
    }

    /// The path that system calls take: of a mapping its name, which lasts; of others the node.
    #[must_use]
    pub fn node(&self) -> String {
        match &self.dm_name {
            Some(name) => format!("/dev/mapper/{name}"),
            // Names with a slash (`cciss/c0d0`) have an exclamation mark in sysfs.
            None => format!("/dev/{}", self.name.replace('!', "/")),
        }
    }

    /// How the device-mapper encrypts it, by the prefix that libcryptsetup gives the UUID of its mappings.
    #[must_use]
    pub fn dm_crypt(&self) -> Option<Encryption> {
        let kind = self.dm_uuid.as_deref()?.strip_prefix("CRYPT-")?;
        match kind.split('-').next()? {
            "LUKS1" => Some(Encryption::Luks { version: 1 }),
            "LUKS2" => Some(Encryption::Luks { version: 2 }),
            "PLAIN" | "LOOPAES" | "TCRYPT" | "BITLK" | "FVAULT2" => Some(Encryption::Plain),
            // VERITY and INTEGRITY are no encryption.
            _ => None,
        }
    }

    fn has_tag(&self, tag: &str, value: &str) -> bool {
        match tag {
            // Programs write UUIDs in either case, and one UUID is one device.
            "UUID" => same_uuid(self.uuid.as_deref(), value),
            "PARTUUID" => same_uuid(self.partuuid.as_deref(), value),
            "LABEL" => self.label.as_deref() == Some(value),
            "PARTLABEL" => self.partlabel.as_deref() == Some(value),
            "ID" => self.has_link(&format!("disk/by-id/{value}")),
            _ => false,
        }
    }

    fn has_path(&self, path: &str) -> bool {
        let Some(name) = path.strip_prefix("/dev/") else { return self.has_link(path) };
        let by = |folder: &str| name.strip_prefix(folder).map(escape::unescape_hex);
        self.name.replace('!', "/") == name
            || name.strip_prefix("mapper/").is_some_and(|name| self.dm_name.as_deref() == Some(name))
            || self.is_volume(name)
            || by("disk/by-uuid/").is_some_and(|uuid| same_uuid(self.uuid.as_deref(), &uuid))
            || by("disk/by-partuuid/").is_some_and(|uuid| same_uuid(self.partuuid.as_deref(), &uuid))
            || by("disk/by-label/").is_some_and(|label| self.label.as_deref() == Some(label.as_str()))
            || by("disk/by-partlabel/").is_some_and(|label| self.partlabel.as_deref() == Some(label.as_str()))
            || self.has_link(name)
    }

    fn has_link(&self, link: &str) -> bool {
        self.links.iter().any(|own| own == link)
    }

    /// `VG/LV` of a volume of LVM, which is `VG-LV` to the device-mapper, with every dash of the two names doubled.
    fn is_volume(&self, name: &str) -> bool {
        let is_lvm = self.dm_uuid.as_deref().is_some_and(|uuid| uuid.starts_with("LVM-"));
        let mapped = || name.split_once('/').map(|(vg, lv)| format!("{}-{}", vg.replace('-', "--"), lv.replace('-', "--")));
        is_lvm && self.dm_name.is_some() && self.dm_name == mapped()
    }
}

/// The tags that fstab(5) knows.
const TAGS: [&str; 5] = ["UUID", "LABEL", "PARTUUID", "PARTLABEL", "ID"];

/// True for what can stand in a configuration for an area: an absolute path, or a tag that fstab(5) knows with a value.
#[must_use]
pub fn is_place(spec: &str) -> bool {
    spec.starts_with('/') || tag(spec).is_some_and(|(tag, value)| TAGS.contains(&tag.as_str()) && !value.is_empty())
}

/// `("UUID", "1234")` of `UUID="1234"`; `None` for a path. Blanks may be escaped as udev writes them.
fn tag(spec: &str) -> Option<(String, &str)> {
    let (tag, value) = spec.split_once('=').filter(|(tag, _)| !tag.contains('/'))?;
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    Some((tag.to_ascii_uppercase(), quoted('"').or_else(|| quoted('\'')).unwrap_or(value)))
}

/// The path without double slashes, `.` and a slash at its end, none of which changes what it names.
fn plain_path(spec: &str) -> String {
    let parts = spec.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.fold(String::new(), |path, part| path + "/" + part)
}

fn same_uuid(own: Option<&str>, wanted: &str) -> bool {
    own.is_some_and(|own| !own.is_empty() && own.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition() -> BlockDevice {
        BlockDevice {
            name: "vda3".into(),
            uuid: Some("5a5a-01".into()),
            label: Some("my swap".into()),
            partuuid: Some("AbCd-03".into()),
            partlabel: Some("Linux swap".into()),
            links: ["disk/by-id/virtio-x-part3", "disk/by-path/pci-0-part3", "/swaplink"].map(str::to_owned).to_vec(),
            ..BlockDevice::default()
        }
    }

    #[test]
    fn every_way_to_name_a_device_means_the_same_one() {
        for spec in [
            "/dev/vda3",
            "/dev//vda3",
            "/dev/./vda3",
            "UUID=5a5a-01",
            "UUID=\"5A5A-01\"",
            "uuid=5a5a-01",
            "LABEL=my swap",
            "LABEL='my swap'",
            "PARTUUID=abcd-03",
            "PARTLABEL=Linux swap",
            "PARTLABEL=\"Linux swap\"",
            "ID=virtio-x-part3",
            "/dev/disk/by-uuid/5a5a-01",
            "/dev/disk/by-label/my\\x20swap",
            "/dev/disk/by-partuuid/abcd-03",
            "/dev/disk/by-partlabel/Linux\\x20swap",
            "/dev/disk/by-id/virtio-x-part3",
            "/dev/disk/by-path/pci-0-part3",
            "/swaplink",
        ] {
            assert!(partition().is_named(spec), "{spec}");
        }
    }

    #[test]
    fn other_names_mean_other_devices() {
        for spec in [
            "/dev/vda",
            "/dev/vda33",
            "vda3",
            "UUID=5a5a-02",
            "UUID=",
            "LABEL=My swap",
            "PARTUUID=5a5a-01",
            "PARTLABEL=",
            "ID=virtio-x",
            "FOO=5a5a-01",
            "/dev/disk/by-uuid/abcd-03",
            "/dev/disk/by-id/",
            "/dev/mapper/vda3",
            "/swap=link",
            "",
        ] {
            assert!(!partition().is_named(spec), "{spec}");
        }
        for (spec, place) in [("/x", true), ("PARTLABEL=\"a b\"", true), ("UUID=", false), ("FOO=1", false), ("vda3", false)] {
            assert_eq!(is_place(spec), place, "{spec}");
        }
        let bare = BlockDevice { name: "vdb".into(), uuid: Some(String::new()), ..BlockDevice::default() };
        assert!(!bare.is_named("UUID=") && !bare.is_named("LABEL=") && bare.is_named("/dev/vdb"));
    }

    #[test]
    fn mappings_and_volumes() {
        let volume = BlockDevice {
            name: "dm-1".into(),
            dm_name: Some("vg--one-swap_1".into()),
            dm_uuid: Some("LVM-abc".into()),
            ..BlockDevice::default()
        };
        for spec in ["/dev/dm-1", "/dev/mapper/vg--one-swap_1", "/dev/vg-one/swap_1"] {
            assert!(volume.is_named(spec), "{spec}");
        }
        assert!(!volume.is_named("/dev/vg/one-swap_1"));
        assert_eq!(volume.node(), "/dev/mapper/vg--one-swap_1");
        let crypt = BlockDevice { dm_uuid: Some("CRYPT-PLAIN-x".into()), ..volume };
        assert!(!crypt.is_named("/dev/vg-one/swap_1"), "no volume of LVM");
        let old = BlockDevice { name: "cciss!c0d0p1".into(), ..BlockDevice::default() };
        assert!(old.is_named("/dev/cciss/c0d0p1") && old.node() == "/dev/cciss/c0d0p1");
    }

    #[test]
    fn what_the_mapping_is() {
        for (uuid, expect) in [
            ("CRYPT-LUKS2-0123-cryptswap", Some(Encryption::Luks { version: 2 })),
            ("CRYPT-PLAIN-cryptswap", Some(Encryption::Plain)),
            ("CRYPT-VERITY-x", None),
            ("LVM-abc", None),
        ] {
            let device = BlockDevice { dm_uuid: Some(uuid.into()), ..BlockDevice::default() };
            assert_eq!(device.dm_crypt(), expect);
        }
    }
}
